/** A LangChain structured tool that calls a tool of an MCP server. */
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { ToolInfo } from "../../model/tool-info.js";
import { OfferedTool, withSourceSchema } from "../offered-tools.js";
import { arrive } from "./interruptible-call.js";
import { isRecord } from "./is-record.js";
import { runTool } from "./run-tool.js";
import type { ToolConfig } from "./tool-config.js";
import type { ToolPort } from "./tool-port.js";

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
export class McpTool extends DynamicStructuredTool {
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
