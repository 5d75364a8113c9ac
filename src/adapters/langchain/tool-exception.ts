/** The error of a LangChain tool: the tool reported failure, or the call could not be made. */
import type { ContentBlock } from "../../execution/tool-result.js";

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
