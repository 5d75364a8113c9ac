/** The fast path of a call without callbacks: what LangChain does with a call, except for callbacks. */
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { isDirectToolOutput, ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import type { RunOutput } from "./hook-output.js";
import { isRecord } from "./is-record.js";
import type { ToolConfig } from "./tool-config.js";

type WatchedTool = Pick<DynamicStructuredTool, "name" | "callbacks" | "tags" | "metadata" | "verbose">;

/** Whether these are arguments and not a whole tool call, which LangChain would unpack. */
export const arePlainArguments = (args: unknown): args is Record<string, unknown> =>
  isRecord(args) && args["type"] !== "tool_call";

/** Whether this is a configuration and not a list of callbacks. */
export const isPlainConfig = (config: unknown): config is ToolConfig =>
  isRecord(config) && !("name" in config);

/**
 * Whether a call has no callbacks. Callbacks may come from the configuration, a parent run, the
 * environment or a hook, so this uses LangChain's own function to collect them.
 */
export function isUnwatched(
  { callbacks, tags, metadata, verbose }: WatchedTool,
  config: ToolConfig,
): boolean {
  if (config.callbacks !== undefined || callbacks !== undefined || verbose) return false;
  return (
    CallbackManager.configure(undefined, undefined, config.tags, tags, config.metadata, metadata, {
      verbose: false,
    }) === undefined
  );
}

/** Does what `StructuredTool.call` does when there is no callback manager; its output is wrapped in the same way. */
export async function callUnwatched(
  tool: WatchedTool,
  config: ToolConfig,
  run: () => Promise<RunOutput>,
): Promise<unknown> {
  if (config.runName === undefined) config.runName = tool.name;
  // It belongs to this run, not to nested runs that inherit the configuration.
  if (config.runId !== undefined) delete config.runId;
  // LangChain notifies its callbacks in this turn; an abort during it takes effect before anything is sent.
  await undefined;
  const [content, artifact] = await run();
  const toolCallId = config.toolCall?.id;
  if (typeof toolCallId !== "string" || toolCallId === "" || isDirectToolOutput(content)) return content;
  return new ToolMessage({
    status: "success",
    content: content as string,
    artifact,
    tool_call_id: toolCallId,
    name: tool.name,
    metadata: tool.metadata as Record<string, unknown>,
  });
}
