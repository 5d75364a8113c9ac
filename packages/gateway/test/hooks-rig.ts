/** A port and its callers, for tests of requests that are passed on. */

import { Port } from "@toolport/core/internal";
import type { ServerEntry, ToolportOptions } from "toolport";
import { onTestFinished } from "vitest";
import type { CallAnswer, CallerRound } from "../../core/src/execution/tool-call.js";
import { readOptions } from "../../core/src/port/read-options.js";
import { createSharedParts } from "../../core/src/port/shared-parts.js";
import type { ServerQuestion, SessionHooks } from "../../core/src/protocol/session-hooks.js";

/** Everything that clients can declare. */
export const ALL_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

/** A port that is closed after the test. */
export function createTestPort(
  mcpServers: Record<string, ServerEntry>,
  options: Omit<ToolportOptions, "mcpServers"> = {},
): Port {
  const parts = createSharedParts(readOptions({ logger: QUIET, ...options, mcpServers }));
  const port = new Port(parts);
  for (const config of parts.settings.servers.values()) port.register(config);
  onTestFinished(async () => {
    await port.close();
    parts.close();
  });
  return port;
}

export interface TestCaller extends SessionHooks, CallerRound {
  readonly questions: ServerQuestion[];
  readonly logs: Readonly<Record<string, unknown>>[];
  /** The result of its last call. */
  result?: CallAnswer["result"];
  /** That result as the server sent it. */
  raw?: CallAnswer["received"];
  /** That result asks for input. */
  isInputRequired?: boolean;
  /** The server that answered. */
  server?: string;
}

/** A caller that answers every question with its `name`. */
export function createTestCaller(
  given: Partial<SessionHooks & CallerRound> & { readonly name?: string } = {},
): TestCaller {
  const { name = "client", capabilities = {}, ...rest } = given;
  const questions: ServerQuestion[] = [];
  const logs: Readonly<Record<string, unknown>>[] = [];
  return {
    capabilities,
    capabilityKey: Object.keys(capabilities).length === 0 ? "" : JSON.stringify(capabilities),
    passesInput: false,
    questions,
    logs,
    async answer(question) {
      questions.push(question);
      if (question.method === "roots/list") return { roots: [{ uri: `file:///${name}` }] };
      if (question.method === "sampling/createMessage")
        return { role: "assistant", content: { type: "text", text: name }, model: name };
      return { action: "accept", content: { name } };
    },
    onLog: (params) => void logs.push(params),
    ...rest,
  };
}

/** Calls a tool by its name on the server. */
export async function callFor(
  port: Port,
  { server = "up", tool, args = {} }: { server?: string; tool: string; args?: Record<string, unknown> },
  caller: TestCaller,
  options: Parameters<Port["run"]>[2] = {},
) {
  await port.ensureLists([port.pool.require(server)], {});
  const entry = port.catalog.find(server, tool);
  if (entry === undefined) throw new Error(`no tool ${tool}`);
  const answered = await port.run(entry, args, options, { hooks: caller, round: caller });
  const { result, received } = answered;
  caller.result = result;
  caller.raw = received;
  caller.server = result.server;
  caller.isInputRequired = received?.["resultType"] === "input_required";
  return result;
}
