/** What a LangChain tool works with: a port for calls, settings, and the configuration that LangChain and LangGraph pass to it. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { ConfigError } from "../../errors/toolport-error.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { ToolInfo } from "../../model/tool-info.js";
import type { CompactOptions } from "../../schema/derive/compact-schema.js";
import type { SchemaTarget } from "../../schema/derive/derived-schema.js";
import { isRecord } from "../../util/json.js";
import type { PartFitter } from "../for-model.js";
import type { AudienceRule } from "../model-content.js";
import type { ToolSource } from "../tool-source.js";
import type {
  HookState,
  InterruptOptions,
  LoadMcpToolsOptions,
  OutputConfig,
  ToolHooks,
} from "./client-config.js";
import { type OutputOptions, resolveOutputHandling } from "./content.js";

/** Options with defaults. */
interface ToolSettings extends OutputOptions {
  readonly audience: AudienceRule;
  /** Undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;
  readonly toolErrors: "throw" | "message";
  readonly maxResourceBytes: number;
}

export interface ToolPort {
  readonly toolport: ToolSource;
  readonly hooks: ToolHooks;
  /** The form of the schemas that models see. */
  readonly target: SchemaTarget;
  /** How schemas and descriptions are shortened; undefined: not at all. */
  readonly compact?: CompactOptions | undefined;
  /** By server: the result of a fallback server is mapped with the settings of that server. */
  settingsOf(server: string): ToolSettings;
  /** A port that sends these headers, for transports that cannot send them with a single call; undefined if none can. */
  withHeaders?(server: string, headers: Readonly<Record<string, string>>): Promise<ToolSource | undefined>;
  /** `extras` of a tool: fields that LangChain passes on to providers that know them. */
  extrasOf?(tool: ToolInfo): Record<string, unknown> | undefined;
  /** Makes results fit into the context of a model. Undefined: models get all of them. */
  readonly fitParts?: PartFitter | undefined;
  /** Undefined: calls never interrupt a graph. */
  readonly interrupts?: Interrupts | undefined;
  /** `_meta` for every call of a server. */
  metaOf?(server: string): Readonly<Record<string, unknown>> | undefined;
}

const DEFAULT_MAX_RESOURCE_BYTES = 4 * 1024 * 1024;

/** The settings of one server: its own, then those of the top level, then the defaults. */
export function readSettings(options: LoadMcpToolsOptions, own: OutputConfig = {}): ToolSettings {
  // The README of `@langchain/mcp-adapters` uses 0 for "not set".
  const timeout = own.defaultToolTimeout || options.defaultToolTimeout;
  return {
    useStandardContentBlocks: options.useStandardContentBlocks ?? false,
    outputHandling: resolveOutputHandling(options.outputHandling, own.outputHandling),
    defaultToolTimeout: timeout || undefined,
    toolErrors: options.toolErrors ?? "throw",
    maxResourceBytes: options.maxResourceBytes ?? DEFAULT_MAX_RESOURCE_BYTES,
    audience: own.audience ?? options.audience ?? "respect",
    onLeftOut: options.onLeftOut,
  };
}

/** What the calls of a tool interrupt the graph for. */
export interface Interrupts {
  readonly reasons: readonly Suspended["reason"][];
  /** The name of the user changes with every process, so a later process cannot find the call. */
  readonly isTemporaryUser: boolean;
}

/** Undefined if neither option is set. A login is needed before both. */
export function interruptsOf(
  { elicitation, approval }: InterruptOptions,
  isTemporaryUser = false,
): Interrupts | undefined {
  const issues = Object.entries({ elicitation, approval })
    .filter(([, value]) => value !== undefined && value !== "interrupt")
    .map(([path]) => ({ path, message: 'must be "interrupt"' }));
  if (issues.length > 0)
    throw new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct or remove the option" });
  if (elicitation === undefined && approval === undefined) return undefined;
  const reasons: Suspended["reason"][] = ["login"];
  if (elicitation !== undefined) reasons.push("input");
  if (approval !== undefined) reasons.push("approval");
  return { reasons, isTemporaryUser };
}

/** The configuration that LangChain passes to a tool; `toolCall` is set if a model requested the call. */
export type ToolConfig = RunnableConfig & {
  toolCall?: { readonly id?: string | undefined } | undefined;
  readonly state?: unknown;
  /** Part of the configuration of every node, so LangGraph itself is not needed here. */
  readonly interrupt?: unknown;
};

/** LangGraph's record of one run of a task. Only read here. */
interface Scratchpad {
  readonly interruptCounter?: number;
  readonly resume?: readonly unknown[];
  readonly currentTaskInput?: unknown;
}

/** The task of LangGraph that a call belongs to. */
export interface GraphTask {
  readonly scratchpad: Scratchpad;
  /** LangGraph's `interrupt`: returns the next resume value of the task, or throws its signal. */
  interrupt(value: object): unknown;
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
  return { scratchpad, interrupt: interrupt as GraphTask["interrupt"] };
}

/** The configuration of the node or tool that is running. */
export const implicitConfig = (): ToolConfig =>
  (AsyncLocalStorageProviderSingleton.getRunnableConfig() as ToolConfig | undefined) ?? {};

export const asRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
