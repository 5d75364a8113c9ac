/** A modern server with 210 tools, in several pages: they ask for input with a state, or create a task. */
import {
  type JsonRpcRequest,
  type JsonRpcServer,
  startJsonRpcServer,
} from "../../../../test/fixtures/servers/http-json-rpc.js";

const LIST = { resultType: "complete", ttlMs: 60_000, cacheScope: "private" };
const TASK = {
  taskId: "task-1",
  status: "working",
  ttlMs: 60_000,
  createdAt: "2026-11-16T00:00:00Z",
  lastUpdatedAt: "2026-11-16T00:00:00Z",
};

export function startAskingServer({
  nameOf,
  createsTask,
  requestedSchema,
  onContinued = () => {},
}: {
  nameOf: (index: number) => string;
  createsTask: (name: string) => boolean;
  requestedSchema: object;
  /** Gets a call that came with a state. */
  onContinued?: (params: JsonRpcRequest["params"]) => void;
}): Promise<JsonRpcServer> {
  return startJsonRpcServer({
    "tools/list": () => ({
      ...LIST,
      tools: Array.from({ length: 210 }, (_, index) => ({
        name: nameOf(index),
        inputSchema: { type: "object" },
      })),
    }),
    "prompts/list": () => ({ ...LIST, prompts: [] }),
    "tools/call": ({ params }) => {
      if (createsTask(String(params["name"]))) return { resultType: "task", ...TASK };
      if (params["requestState"] !== undefined) {
        onContinued(params);
        return { resultType: "complete", content: [] };
      }
      const question = { method: "elicitation/create", params: { message: "?", requestedSchema } };
      return {
        resultType: "input_required",
        inputRequests: { seat: question },
        requestState: "of the server",
      };
    },
    "tasks/get": () => ({ resultType: "complete", ...TASK }),
  });
}

/** The number of a tool in its name. */
export const numbered = (index: number): string => String(index).padStart(3, "0");
