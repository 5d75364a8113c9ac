/** Requests of servers for a model's text and for roots, and how callbacks run that answer requests of servers. */

import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
} from "@modelcontextprotocol/client";
import { ConfigError, canParseUrl, redactText, ToolCallError, ToolportError } from "@toolport/base";

/** Wraps what the callback throws in a `REFUSED` error; after an abort, throws the reason of the abort. */
export async function runCallback<T>(
  option: string,
  origin: RequestOrigin,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (origin.signal.aborted) throw origin.signal.reason;
    if (ToolportError.isInstance(error)) throw error;
    const reason = error instanceof Error ? redactText(error.message) : "";
    throw new ToolCallError({
      code: "REFUSED",
      server: origin.server,
      tool: origin.tool,
      what: `${option} failed while the server waited for the response${reason === "" ? "" : `: ${reason}`}`,
      next: `Fix ${option}`,
      cause: error,
    });
  }
}

/** The callback returned a value that cannot be sent. */
export function unusableCallbackResult(
  option: string,
  { server, tool }: RequestOrigin,
  details: { what: string; issues?: readonly { path: string; message: string }[] },
): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server,
    tool,
    what: `The result of ${option} cannot be sent: ${details.what}`,
    next: `Fix what ${option} returns`,
    issues: details.issues,
  });
}

/** The server requested something that no option serves. */
export function notServed(
  { server, tool }: RequestOrigin,
  { requested, option }: { requested: string; option: string },
): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    tool,
    what: `The server requested ${requested}, but no callback for it is configured`,
    next: `Set the option \`${option}\` of createToolport`,
  });
}

/** Where a request comes from, and until when its response is needed. */
export interface RequestOrigin {
  /** Name of the server, as configured. Show it to the user who decides. */
  readonly server: string;
  /**
   * The tool (its name on that server) whose call led to the request. Always known for servers that speak 2026-07-28. Earlier
   * revisions do not transmit it, so it is set only while a single tool call is in flight on the connection.
   */
  readonly tool?: string | undefined;
  /** The user that the connection belongs to; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** Aborts when the response is no longer needed: close the dialog. */
  readonly signal: AbortSignal;
}

/** The completion that a server requests. */
export type SamplingRequest = CreateMessageRequestParams;

/** The completion of the model. */
export type SamplingAnswer = CreateMessageResult | CreateMessageResultWithTools;

/** Asks a model on behalf of a server. It must respect `maxTokens`, and should let a user approve the prompt. */
export type SamplingHandler = (
  request: SamplingRequest,
  origin: RequestOrigin,
) => SamplingAnswer | Promise<SamplingAnswer>;

/**
 * Completes messages on behalf of servers. A function handles plain messages; `{ handle, tools: true }` also allows servers
 * to offer tools to the model.
 *
 * @example
 * ```ts
 * const onSampling: SamplingOption = async ({ messages, maxTokens }, { server, signal }) => {
 *   const text = await model.complete(messages, { maxTokens, signal, onBehalfOf: server });
 *   return { role: "assistant", model: "my-model", content: { type: "text", text } };
 * };
 * ```
 */
export type SamplingOption =
  | SamplingHandler
  | {
      readonly handle: SamplingHandler;
      /** Servers may offer tools to the model. @default false */
      readonly tools?: boolean | undefined;
    };

/** The capability to advertise; undefined: none. */
export function samplingCapability(option: SamplingOption | undefined): ClientCapabilities["sampling"] {
  if (option === undefined) return undefined;
  return typeof option !== "function" && option.tools ? { tools: {} } : {};
}

const OPTION = "onSampling";

/** Handles `sampling/createMessage`. */
export async function handleSampling(
  params: Readonly<Record<string, unknown>>,
  origin: RequestOrigin,
  option: SamplingOption | undefined,
): Promise<Record<string, unknown>> {
  if (option === undefined)
    throw notServed(origin, { requested: "a model completion (sampling/createMessage)", option: OPTION });
  const { handle, tools } = typeof option === "function" ? { handle: option, tools: false } : option;
  if (!tools && (params["tools"] !== undefined || params["toolChoice"] !== undefined))
    throw notServed(origin, {
      requested: "a model completion with tools (sampling/createMessage)",
      option: "onSampling: { handle, tools: true }",
    });
  if (!Array.isArray(params["messages"]) || typeof params["maxTokens"] !== "number") {
    throw new ToolCallError({
      code: "PROTOCOL",
      server: origin.server,
      tool: origin.tool,
      what: "The server requested a completion without messages or without maxTokens",
      next: "Report this to the author of the server",
    });
  }
  const result = await runCallback(OPTION, origin, () => handle(params as SamplingRequest, origin));
  if (typeof result?.model !== "string" || typeof result.role !== "string" || !isContent(result.content))
    throw unusableCallbackResult(OPTION, origin, { what: "it lacks a role, a model or content" });
  return result;
}

const isContent = (content: unknown): boolean => typeof content === "object" && content !== null;

/** A directory or file that servers may work on. */
export interface Root {
  /** A `file://` URL. */
  readonly uri: string;
  /** Display name. */
  readonly name?: string | undefined;
}

/**
 * Directories and files that servers may work on: a list for all servers, or a function that decides for each. Call
 * `rootsChanged()` after a change.
 *
 * @example
 * ```ts
 * const roots: RootsOption = ({ server }) =>
 *   server === "files" ? [{ uri: "file:///home/ada/project", name: "project" }] : [];
 * ```
 */
export type RootsOption =
  | readonly Root[]
  | ((origin: RequestOrigin) => readonly Root[] | Promise<readonly Root[]>);

/** The capability to advertise; undefined: none. */
export const rootsCapability = (option: RootsOption | undefined): ClientCapabilities["roots"] =>
  option === undefined ? undefined : { listChanged: true };

/** Validates a fixed list when the port is created. */
export function assertRoots(option: RootsOption | undefined): void {
  if (option === undefined || typeof option === "function") return;
  const issues = option.flatMap((root, index) =>
    isRoot(root) ? [] : [{ path: `roots[${index}].uri`, message: "must be a file:// URL" }],
  );
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
}

/** Handles `roots/list`. */
export async function handleRoots(
  origin: RequestOrigin,
  option: RootsOption | undefined,
): Promise<Record<string, unknown>> {
  if (option === undefined)
    throw notServed(origin, { requested: "the directories it may work on (roots/list)", option: "roots" });
  const roots =
    typeof option === "function" ? await runCallback("roots", origin, () => option(origin)) : option;
  if (!Array.isArray(roots) || !roots.every(isRoot))
    throw unusableCallbackResult("roots", origin, { what: "it is not a list of file:// URLs" });
  return { roots: roots.map(({ uri, name }) => ({ uri, ...(name !== undefined && { name }) })) };
}

function isRoot(root: unknown): root is Root {
  const { uri, name } = (root ?? {}) as Partial<Root>;
  if (typeof uri !== "string" || (name !== undefined && typeof name !== "string")) return false;
  return uri.startsWith("file://") && canParseUrl(uri);
}
