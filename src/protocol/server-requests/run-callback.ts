/** Runs a user's callback for a server request and turns its failures into errors that name the callback. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { redactText } from "../../util/redact-text.js";
import type { RequestOrigin } from "./request-origin.js";

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
