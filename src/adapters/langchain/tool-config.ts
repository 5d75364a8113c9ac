/** Reads the configuration that LangChain and LangGraph pass to a tool. */
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { isRecord } from "../../util/json.js";
import type { HookState } from "./client-config.js";
import type { Interrupt, Scratchpad } from "./task-questions.js";

/** The configuration that LangChain passes to a tool; `toolCall` is set if a model requested the call. */
export type ToolConfig = RunnableConfig & {
  toolCall?: { readonly id?: string | undefined } | undefined;
  readonly state?: unknown;
  /** Part of the configuration of every node, so LangGraph itself is not needed here. */
  readonly interrupt?: unknown;
};

/** The task of LangGraph that a call belongs to. */
export interface GraphTask {
  readonly scratchpad: Scratchpad;
  readonly interrupt: Interrupt;
}

export const toolCallIdOf = ({ toolCall }: ToolConfig): string | undefined => toolCall?.id || undefined;

/** Set by `McpTool.invoke`, or by LangChain itself. */
export function timeoutOf({ metadata }: ToolConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

// The same key that LangGraph's `getCurrentTaskInput` uses.
const scratchpadOf = ({ configurable }: ToolConfig): Scratchpad | undefined =>
  configurable?.["__pregel_scratchpad"] as Scratchpad | undefined;

export function stateOf(config: ToolConfig): HookState {
  return asRecord(scratchpadOf(config)?.currentTaskInput ?? config.state);
}

/** Undefined outside of a graph. */
export function graphTaskOf(config: ToolConfig): GraphTask | undefined {
  const { interrupt } = config;
  const scratchpad = scratchpadOf(config);
  if (typeof interrupt !== "function" || !isRecord(scratchpad)) return undefined;
  // LangGraph's `interrupt` takes the task from here.
  if (scratchpadOf(implicitConfig()) !== scratchpad) return undefined;
  return { scratchpad, interrupt: interrupt as Interrupt };
}

/** The configuration of the node or tool that is running. */
export const implicitConfig = (): ToolConfig =>
  (AsyncLocalStorageProviderSingleton.getRunnableConfig() as ToolConfig | undefined) ?? {};

export const asRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
