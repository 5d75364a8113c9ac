/** Converts the tools of a port to LangChain tools. */
import { DynamicStructuredTool } from "@langchain/core/tools";
import { debugChannel, definedFields, isRecord, type ToolInfo, type WithheldTool } from "@toolport/base";
import type { ToolsOptions } from "@toolport/core";
import {
  OfferedTool,
  readCompact,
  targetOf,
  type WithCompact,
  withSourceSchema,
} from "@toolport/schemas/internal";
import { createFitter, hasReader, type WithForModel, withReader } from "../for-model.js";
import { type AllowedCallers, callersOf, checkDeferred, withoutSearch } from "../offered-tools.js";
import type { ToolSource } from "../tool-source.js";
import type { InterruptOptions, LoadMcpToolsOptions, OutputConfig } from "./client-config.js";
import { loadError, MCPClientError } from "./errors.js";
import { arrive, interruptsOf, type ToolConfig } from "./interrupts.js";
import { readSettings, runTool, type ToolPort } from "./run-tool.js";

/** Options of `toLangChainTools`: which tools, how their output is mapped, and hooks. */
export interface ToLangChainToolsOptions
  extends Omit<ToolsOptions, "deferred">,
    InterruptOptions,
    WithCompact,
    WithForModel,
    Omit<LoadMcpToolsOptions, "prefixToolNameWithServerName" | "additionalToolNamePrefix"> {
  /** Output options of single servers, which take precedence over those given here. @default none */
  outputOf?: Readonly<Record<string, OutputConfig>> | undefined;
  /**
   * How a model reaches the tools that `deferTools` of the port hides: through Toolport's `search_tools` and `call_tool` (`"own"`), or
   * through the search of OpenAI or Anthropic (`"native"`), which `providerToolSearchMiddleware()` of `langchain` adds. With `"native"` the
   * tools are marked with `extras.defer_loading`, and other providers get all of them.
   * @default "own"
   * @example
   * ```ts
   * const agent = createAgent({
   *   model: new ChatAnthropic({ model: "claude-sonnet-4-5" }),
   *   tools: await toLangChainTools(toolport, { deferred: "native" }),
   *   middleware: [providerToolSearchMiddleware()],
   * });
   * ```
   */
  deferred?: "own" | "native" | undefined;
  /**
   * Who may call the tools, as `extras.allowed_callers`, which `@langchain/anthropic` passes on: the model (`"direct"`), programs at
   * Anthropic (`"code_execution_20260120"`). A function chooses for each tool.
   * @default Anthropic's: the model only
   * @example
   * ```ts
   * { allowedCallers: (tool) => (tool.annotations?.readOnlyHint ? ["direct", "code_execution_20260120"] : undefined) }
   * ```
   */
  allowedCallers?: AllowedCallers<string> | undefined;
}

const debug = debugChannel("call");

/**
 * Converts the tools of a port. With `deferTools` these are the search over all tools and the few that are always
 * visible, as for any other model, unless `deferred` says otherwise.
 *
 * @example
 * ```ts
 * const tools = await toLangChainTools(toolport, { servers: ["weather"], useStandardContentBlocks: true });
 * ```
 */
export async function toLangChainTools(
  toolport: ToolSource,
  options: ToLangChainToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  const { servers, only, except, filter, all, signal, timeoutMs } = options;
  const target = targetOf(options.schema);
  const chosen = definedFields({ servers, only, except, filter, all, signal, timeoutMs });
  checkDeferred(options.deferred ?? "own", ["own", "native"]);
  const { visible, deferred } = await list(toolport, chosen, options.deferred);
  // Also if every tool is deferred: the results of those that a search finds can be large too.
  const offered = withReader(toolport, [...visible, ...deferred], options);
  if (options.throwOnLoadError === true) assertNoneWithheld(toolport, options);
  // Before the conversion, which may leave out a tool that fails: this would be a mistake of the caller.
  const extras = extrasByTool(offered, new Set(deferred), options.allowedCallers);
  const port: ToolPort = {
    toolport,
    hooks: options,
    target,
    compact: readCompact(options.compact),
    settingsOf: (server) => readSettings(options, options.outputOf?.[server]),
    interrupts: interruptsOf(options),
    extrasOf: (tool) => extras.get(tool),
    ...(options.forModel !== false && {
      fitParts: createFitter(toolport, options.forModel, hasReader(offered)),
    }),
  };
  return convertTools(offered, { port, throwOnLoadError: options.throwOnLoadError ?? true });
}

async function list(
  toolport: ToolSource,
  selection: Omit<ToolsOptions, "deferred">,
  mode: ToLangChainToolsOptions["deferred"],
): Promise<{ visible: ToolInfo[]; deferred: ToolInfo[] }> {
  const all = await toolport.tools(selection);
  if (mode !== "native") return { visible: all, deferred: [] };
  const deferred = await toolport.tools({ ...selection, all: false, deferred: true });
  return { visible: withoutSearch(all, deferred, ({ name }) => name), deferred };
}

function extrasByTool(
  tools: readonly ToolInfo[],
  deferred: ReadonlySet<ToolInfo>,
  allowed: AllowedCallers<string> | undefined,
): ReadonlyMap<ToolInfo, Record<string, unknown>> {
  const extras = new Map<ToolInfo, Record<string, unknown>>();
  for (const tool of tools) {
    const isDeferred = deferred.has(tool);
    const callers = callersOf(tool, allowed);
    if (!isDeferred && callers === undefined) continue;
    extras.set(tool, definedFields({ defer_loading: isDeferred || undefined, allowed_callers: callers }));
  }
  return extras;
}

function assertNoneWithheld(toolport: ToolSource, { servers, only, except }: ToLangChainToolsOptions): void {
  const snapshot = toolport.snapshot?.();
  if (snapshot === undefined) return;
  for (const server of servers ?? Object.keys(snapshot.servers)) {
    const error = loadError(server, snapshot, { all: { only, except } });
    if (error !== undefined) throw error;
  }
}

export interface Conversion {
  readonly port: ToolPort;
  readonly throwOnLoadError: boolean;
  /** @default the name in the port */
  readonly nameOf?: (tool: ToolInfo) => string;
  /** Called for a tool that could not be converted. */
  readonly onLeftOut?: (tool: WithheldTool) => void;
}

/** Creates one LangChain tool for each. If one cannot be converted, throws or leaves it out. */
export function convertTools(
  infos: readonly ToolInfo[],
  { port, throwOnLoadError, nameOf = ({ name }) => name, onLeftOut }: Conversion,
): DynamicStructuredTool[] {
  return infos.flatMap((tool) => {
    try {
      return [new McpTool(tool, port, nameOf(tool))];
    } catch (error) {
      const message = `Tool "${tool.name}" of server "${tool.server}" cannot be converted: ${String(error)}`;
      debug(message);
      if (throwOnLoadError) throw new MCPClientError(message, tool.server, { cause: error });
      onLeftOut?.({ server: tool.server, name: tool.sourceName, reason: message });
      return [];
    }
  });
}

/** The metadata of a tool, without name, description and schema. */
function metadataOf(tool: ToolInfo): Record<string, unknown> {
  const { server, sourceName, title, annotations, _meta } = tool;
  const metadata = {
    annotations,
    ...(title !== undefined && { title }),
    ...(_meta !== undefined && { _meta }),
    server,
    sourceName,
  };
  // LangChain copies metadata into every trace and every message.
  return withSourceSchema(metadata, tool);
}

/**
 * The port checks arguments against the original schema and its draft. LangChain's own check
 * supports one draft only and has no limit on hostile patterns, so it gets a schema that accepts everything.
 */
class McpTool extends DynamicStructuredTool {
  /** In milliseconds; undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;
  /** Its calls may interrupt a graph. */
  readonly isInterruptible: boolean;

  constructor(tool: ToolInfo, port: ToolPort, name = tool.name) {
    const offered = new OfferedTool(tool, port.target, port.compact);
    super({
      name,
      description: offered.description ?? "",
      schema: {},
      responseFormat: "content_and_artifact",
      metadata: metadataOf(tool),
      func: (args: unknown, _manager: unknown, config: ToolConfig = {}) =>
        runTool({ tool, name, port, args: isRecord(args) ? offered.derived.unwrap(args) : args, config }),
    });
    // A copy: our schema is shared, and some code in LangChain modifies schemas.
    defineLazySchema(this, () => structuredClone(offered.derived.schema));
    const extras = port.extrasOf?.(tool);
    // Not passed to the constructor: early versions of `@langchain/core` 1 ignore it there.
    if (extras !== undefined) this.extras = extras;
    this.defaultToolTimeout = port.settingsOf(tool.server).defaultToolTimeout;
    this.isInterruptible = port.interrupts !== undefined;
  }

  /** Traces show the class of LangChain. */
  override get lc_id(): string[] {
    return [...this.lc_namespace, "DynamicStructuredTool"];
  }

  // The types of both methods are those of the base class; users never see the type `McpTool`.
  override async invoke(input: never, config?: never): Promise<never> {
    const leave = this.isInterruptible ? arrive(input, config) : undefined;
    try {
      return (await super.invoke(input, withTimeout(config, this.defaultToolTimeout) as never)) as never;
    } finally {
      leave?.();
    }
  }

  override call(input: never, config?: never, tags?: string[]): Promise<never> {
    // A new schema for every call: the validator modifies it.
    const unchecked = Object.create(this, { schema: { value: {} } }) as this;
    return super.call.call(unchecked, input, config, tags) as Promise<never>;
  }
}

/**
 * The timeout of the call, or else the default. Does not use LangChain's `defaultConfig`, which would take the shorter of the
 * two. The number stays in `metadata`, where LangChain puts it, because it may be the limit of the whole run.
 */
function withTimeout(config: ToolConfig | undefined, defaultToolTimeout: number | undefined) {
  const timeout = config?.timeout ?? defaultToolTimeout;
  if (timeout === undefined) return config;
  return { ...config, timeout, metadata: { ...config?.metadata, timeoutMs: timeout } };
}

/**
 * Defines `schema`, which is derived when it is first read: the row "connect, list, convert: 1,000 tools" of the benchmark.
 * It may be assigned, and shadowed by objects made from the tool, like a plain property.
 */
function defineLazySchema(tool: object, derive: () => object): void {
  let schema: object | undefined;
  Object.defineProperty(tool, "schema", {
    enumerable: true,
    configurable: true,
    get: () => (schema ??= derive()),
    set(this: object, value: unknown) {
      Object.defineProperty(this, "schema", { value, enumerable: true, configurable: true, writable: true });
    },
  });
}
