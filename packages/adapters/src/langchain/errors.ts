/** The errors of the LangChain adapter, in the format that programs for `@langchain/mcp-adapters` expect. */

import { type ConfigError, parsePath, ToolportError, type WithheldTool } from "@toolport/base";
import type { ContentBlock, Toolport, ToolportSnapshot, ToolsOptions } from "@toolport/core";
import { compileFilter } from "@toolport/core/internal";

/** Details of the failure. */
export interface ToolExceptionDetails {
  serverName?: string | undefined;
  /** The tool's name on its server. */
  toolName?: string | undefined;
  /** The content of the result as MCP blocks; empty if there was no result. */
  content?: readonly ContentBlock[] | undefined;
  /** The structured content of the result, if any. */
  structuredContent?: unknown;
  /** `_meta` of the result. */
  meta?: Readonly<Record<string, unknown>> | undefined;
  /** Why the call could not be made: a `ToolportError`, or the error of a hook. */
  cause?: unknown;
}

/**
 * Thrown by `invoke`. Contains the result if the tool reported failure; any other failure has a `cause`.
 *
 * @example
 * ```ts
 * if (ToolException.isInstance(error)) console.error(error.toolName, error.structuredContent ?? error.message);
 * ```
 */
export class ToolException extends Error {
  override readonly name = "ToolException";
  readonly serverName: string | undefined;
  readonly toolName: string | undefined;
  readonly content: readonly ContentBlock[];
  readonly structuredContent: unknown;
  readonly meta: Readonly<Record<string, unknown>> | undefined;

  constructor(message: string, details: ToolExceptionDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.serverName = details.serverName;
    this.toolName = details.toolName;
    this.content = details.content ?? [];
    this.structuredContent = details.structuredContent;
    this.meta = details.meta;
  }

  /** By name, as documented: also across copies of the package. */
  static isInstance(value: unknown): value is ToolException {
    return value instanceof Error && value.name === "ToolException";
  }
}

/** Thrown by the methods of `MultiServerMCPClient`. `cause` is the `ToolportError` that says why. */
export class MCPClientError extends Error {
  override readonly name = "MCPClientError";
  /** The server; undefined if the error does not concern a single server. */
  readonly serverName: string | undefined;

  constructor(message: string, serverName?: string, options?: { cause?: unknown }) {
    super(message, options);
    this.serverName = serverName;
  }

  /** By name, as documented: also across copies of the package. */
  static isInstance(value: unknown): value is MCPClientError {
    return value instanceof Error && value.name === "MCPClientError";
  }
}

/** The error of a port as a client reports it: what failed, and why. */
export function asClientError(cause: unknown, server: string, what: string): MCPClientError {
  const why = ToolportError.isInstance(cause) ? cause.message : String(cause);
  return new MCPClientError(`${what}: ${why}`, server, { cause });
}

/** One problem of a configuration. */
export interface ZodIssue {
  readonly code: "custom";
  /** Where it is, key by key: `["mcpServers", "weather", "url"]`. */
  readonly path: (string | number)[];
  /** What is wrong and what is expected. Never contains a secret value. */
  readonly message: string;
}

/** An error named `ZodError` with `issues`, as documented; zod itself is not used. */
export class ConfigZodError extends Error {
  override readonly name = "ZodError";
  readonly issues: readonly ZodIssue[];

  constructor(issues: readonly ZodIssue[], options?: { cause?: unknown }) {
    super(issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("\n"), options);
    this.issues = issues;
  }
}

/** The same problems, with the paths of the user's configuration: a plain map of servers has no `mcpServers`. */
export function toZodError(error: ConfigError, isBareMap: boolean): ConfigZodError {
  const issues = error.issues.map(({ path, message }): ZodIssue => {
    const keys = parsePath(path);
    // Problems without a server come from the option `toolport`.
    const own = keys[0] === "options" ? ["toolport", ...keys.slice(1)] : isBareMap ? keys.slice(1) : keys;
    return { code: "custom", path: own, message };
  });
  const all: ZodIssue[] = issues.length > 0 ? issues : [{ code: "custom", path: [], message: error.what }];
  return new ConfigZodError(all, { cause: error });
}

/** Those of several ports, without duplicates, and those that LangChain rejected. */
export function allWithheld(
  ports: readonly Toolport[],
  unconverted: readonly WithheldTool[],
): readonly WithheldTool[] {
  const all = [...ports.flatMap((port) => port.snapshot().withheldTools), ...unconverted];
  return [...new Map(all.map((tool) => [JSON.stringify(tool), tool])).values()];
}

type Names = Pick<ToolsOptions, "only" | "except">;

/**
 * The error for tools of a server that cannot be offered because of their definition; undefined if
 * there is none. Duplicates, and tools that pins or the scan withhold, do not count.
 *
 * @param filters the user's own, by name: tools that they exclude are not reported
 */
export function loadError(
  server: string,
  { tools, withheldTools: withheld }: Pick<ToolportSnapshot, "tools" | "withheldTools">,
  { own = {}, all = {} }: { own?: Names | undefined; all?: Names | undefined },
): MCPClientError | undefined {
  if (!withheld.some((tool) => tool.server === server)) return undefined;
  const rules = [
    compileFilter({ only: own.only, except: own.except }, "server"),
    compileFilter({ only: all.only, except: all.except }),
  ];
  const offered = new Set(tools.filter((tool) => tool.server === server).map(({ sourceName }) => sourceName));
  const missing = withheld.filter(({ server: its, name, isRefused }) => {
    if (its !== server || isRefused || offered.has(name)) return false;
    const tool = { name, sourceName: name, inputSchema: {} };
    return rules.every((rule) => rule({ name: server }, tool) === undefined);
  });
  if (missing.length === 0) return undefined;
  const each = missing.map(({ name, reason }) => `tool "${name}" cannot be offered: ${reason}`);
  return new MCPClientError(
    `Failed to load tools from server "${server}": ${each.join("; ")}. Set throwOnLoadError to false to leave ${
      missing.length === 1 ? "it" : "them"
    } out`,
    server,
  );
}
