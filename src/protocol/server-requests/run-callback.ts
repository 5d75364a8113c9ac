/** Runs a user's callback for a server request and turns its failures into errors that name the callback. */
import { ToolCallError, ToolportError } from "../../errors/toolport-error.js";
import { redactText } from "../../util/redact-text.js";

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
