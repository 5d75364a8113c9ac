/** Dependencies of a LangChain tool: a port for calls, and how its output is mapped. */
import type { ToolInfo } from "../../model/tool-info.js";
import type { CompactOptions } from "../../schema/derive/compact-schema.js";
import type { SchemaTarget } from "../../schema/derive/derived-schema.js";
import type { AudienceRule, ContentOptions } from "../content-options.js";
import type { PartFitter } from "../for-model.js";
import type { ToolSource } from "../tool-source.js";
import type { LoadMcpToolsOptions, OutputConfig, ToolHooks } from "./client-config.js";
import type { Interrupts } from "./interruptible-call.js";
import { type OutputTarget, type OutputType, resolveOutputHandling } from "./output-handling.js";

/** Options with defaults. */
export interface ToolSettings {
  readonly useStandardContentBlocks: boolean;
  readonly outputHandling: Readonly<Record<OutputType, OutputTarget>>;
  /** Undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;
  readonly toolErrors: "throw" | "message";
  readonly maxResourceBytes: number;
  readonly audience: AudienceRule;
  readonly onLeftOut: ContentOptions["onLeftOut"];
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

/** The settings by server, cached because every call and every tool reads them. */
export function settingsByServer(
  options: LoadMcpToolsOptions,
  ownOf: (server: string) => OutputConfig | undefined,
): (server: string) => ToolSettings {
  const known = new Map<string, ToolSettings>();
  return (server) => {
    let settings = known.get(server);
    if (settings === undefined) {
      settings = readSettings(options, ownOf(server));
      known.set(server, settings);
    }
    return settings;
  };
}

/** The settings of one server: its own, then those of the top level, then the defaults. */
function readSettings(options: LoadMcpToolsOptions, own: OutputConfig = {}): ToolSettings {
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
