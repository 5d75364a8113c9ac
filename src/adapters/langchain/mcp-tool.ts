/** A LangChain structured tool that calls a tool of an MCP server. */
import { ensureConfig, mergeConfigs } from "@langchain/core/runnables";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { ToolInfo } from "../../model/tool-info.js";
import { OfferedTool, withSourceSchema } from "../offered-tools.js";
import { clonePlain } from "./clone-plain.js";
import type { RunOutput } from "./hook-output.js";
import { arrive } from "./interruptible-call.js";
import { isRecord } from "./is-record.js";
import { runTool } from "./run-tool.js";
import type { ToolConfig } from "./tool-config.js";
import type { ToolPort } from "./tool-port.js";
import { arePlainArguments, callUnwatched, isPlainConfig, isUnwatched } from "./unwatched-call.js";

const RESPONSE_FORMAT = "content_and_artifact";

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

/** Placeholder until the schema is first read. */
const NOT_READ = {};

/**
 * The port checks arguments against the original schema and its draft. LangChain's own check
 * supports one draft only and has no limit on hostile patterns, so it gets a schema that accepts everything.
 *
 * A call without callbacks bypasses LangChain's own code, which would cost more than the call; any other call uses
 * it. The outcome is the same.
 */
export class McpTool extends DynamicStructuredTool {
  /** In milliseconds; undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;
  readonly #port: ToolPort;
  readonly #func: (args: unknown, manager: undefined, config: ToolConfig) => Promise<RunOutput>;

  constructor(tool: ToolInfo, port: ToolPort, name = tool.name) {
    const offered = new OfferedTool(tool, port.target, port.compact);
    const func = (args: unknown, _manager: unknown, config: ToolConfig = {}) =>
      runTool({ tool, name, port, args: isRecord(args) ? offered.derived.unwrap(args) : args, config });
    super({
      name,
      description: offered.description ?? "",
      schema: NOT_READ,
      responseFormat: RESPONSE_FORMAT,
      metadata: metadataOf(tool),
      func,
    });
    // A copy: our schema is shared, and some code in LangChain modifies schemas.
    defineLazySchema(this, () => clonePlain(offered.derived.schema, structuredClone));
    const extras = port.extrasOf?.(tool);
    // Not passed to the constructor: early versions of `@langchain/core` 1 ignore it there.
    if (extras !== undefined) this.extras = extras;
    this.defaultToolTimeout = port.settingsOf(tool.server).defaultToolTimeout;
    this.#port = port;
    this.#func = func;
  }

  static override lc_name(): string {
    return "DynamicStructuredTool";
  }

  // The types of both methods are those of the base class; users never see the type `McpTool`.
  override invoke(input: never, config?: never): Promise<never> {
    const limited = withTimeout(config, this.defaultToolTimeout);
    const isWaitedFor = #port in this && this.#port.interrupts !== undefined;
    const leave = isWaitedFor ? arrive(input, config) : undefined;
    const output = McpTool.#isAsMade(this)
      ? this.#callWith(input, limited)
      : (super.invoke(input, limited as never) as Promise<never>);
    return leave === undefined ? output : output.finally(leave);
  }

  /** Does what `StructuredTool.invoke` does. */
  #callWith(input: never, config: ToolConfig | undefined): Promise<never> {
    try {
      const full: ToolConfig = ensureConfig(mergeConfigs(this.defaultConfig, config));
      const { type, args } = (input ?? {}) as { type?: unknown; args?: unknown };
      if (type !== "tool_call") return this.call(input, full as never);
      full.toolCall = input;
      return this.call(args as never, full as never);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  override call(input: never, config?: never, tags?: string[]): Promise<never> {
    const isShort =
      McpTool.#isAsMade(this) &&
      arePlainArguments(input) &&
      isPlainConfig(config) &&
      isUnwatched(this, config);
    if (isShort)
      return callUnwatched(this, config, () => this.#func(input, undefined, config)) as Promise<never>;
    // A new schema for every call: the validator modifies it.
    const unchecked = Object.create(this, { schema: { value: {} } }) as this;
    return super.call.call(unchecked, input, config, tags) as Promise<never>;
  }

  /** False for a proxy, for a tool that was modified, and with hooks, which may return any output. */
  static #isAsMade(tool: McpTool): boolean {
    if (!(#func in tool) || tool.func !== tool.#func) return false;
    if (tool._call !== McpTool.prototype._call || tool.responseFormat !== RESPONSE_FORMAT) return false;
    const { beforeToolCall, afterToolCall } = tool.#port.hooks;
    return beforeToolCall === undefined && afterToolCall === undefined;
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

/** Defines `schema` on a tool. It may be read, assigned, and shadowed by objects made from the tool, like a plain property. */
function defineLazySchema(tool: object, make: () => unknown): void {
  const define = (target: object, value: unknown) => {
    Object.defineProperty(target, "schema", { value, enumerable: true, configurable: true, writable: true });
    return value;
  };
  Object.defineProperty(tool, "schema", {
    enumerable: true,
    configurable: true,
    get: () => define(tool, make()),
    set(this: object, value: unknown) {
      define(this, value);
    },
  });
}
