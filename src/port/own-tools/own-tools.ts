/** Tools of the port's own beside those of the servers: what models are shown, and what happens when they are called. */
import { isSafeName } from "../../catalog/names/safe-name.js";
import { ConfigError } from "../../errors/config-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { resultSizeStep } from "../../execution/result-size.js";
import type { CallToolOptions, ToolCall } from "../../execution/tool-call.js";
import { type ToolResult, toToolResult } from "../../execution/tool-result.js";
import type { JsonSchema } from "../../model/listed-tool.js";
import type { ToolInfo } from "../../model/tool-info.js";
import type { Port } from "../port.js";

/** Whose tools they are, in place of a server. */
const OWN_SERVER = "toolport";

/** A tool that the port answers itself. */
export interface OwnTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Other names under which it may be called. They are shown to nobody, and no server's tool gets them. */
  readonly aliases?: readonly string[] | undefined;
  /** Answers with text for the model, or with a whole result. */
  call(
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<string | ToolResult> | string | ToolResult;
}

/** What a model can mend by itself: told to it, not thrown at the program. */
const SLIPS: readonly string[] = [
  "TOOL_NOT_FOUND",
  "TOOL_WITHHELD",
  "TOOL_CHANGED",
  "INVALID_ARGUMENTS",
  "RESOURCE_NOT_FOUND",
  "PROMPT_NOT_FOUND",
  "UNKNOWN_SERVER",
];

export const textResult = (text: string, isError = false): ToolResult =>
  toToolResult({ content: [{ type: "text", text }], isError }, OWN_SERVER);

/** A tool of the port's own as it is listed. */
export const toOwnInfo = ({ name, title, description, inputSchema }: OwnTool): ToolInfo =>
  Object.freeze({ name, title, description, inputSchema, server: OWN_SERVER, sourceName: name });

/** Calls it. A slip of the model's becomes an answer with `isError`. */
export async function callOwnTool(
  { parts, principal }: Port,
  tool: OwnTool,
  { args, options }: { args: Readonly<Record<string, unknown>>; options: CallToolOptions },
): Promise<ToolResult> {
  const startedAt = performance.now();
  const { maxResultBytes } = parts.settings;
  const limit = maxResultBytes === undefined ? undefined : resultSizeStep(maxResultBytes, parts);
  const answer = async (): Promise<ToolResult> => {
    try {
      const answered = await tool.call(args, options);
      if (typeof answered !== "string") return answered;
      const result = textResult(answered);
      return limit === undefined ? result : await limit(async () => result)(call);
    } catch (error) {
      if (!ToolportError.isInstance(error) || !SLIPS.includes(error.code)) throw error;
      return textResult(error.message, true);
    }
  };
  const call: ToolCall = {
    tool: toOwnInfo(tool),
    args,
    options,
    principal: principal?.name,
    attempts: [],
    startedAt,
    deadline: Number.POSITIVE_INFINITY,
    patient: true,
    budget: { leftMs: 0 },
  };
  return { ...(await answer()), durationMs: performance.now() - startedAt };
}

/** Own names must be good for every provider, and unlike each other. */
export function assertOwnNames(option: string, names: readonly unknown[]): void {
  const issues = names.flatMap((name, index) => {
    const isGood = typeof name === "string" && isSafeName(name) && names.indexOf(name) === index;
    return isGood
      ? []
      : [{ path: option, message: `${JSON.stringify(name)} is not a name that every provider takes` }];
  });
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}
