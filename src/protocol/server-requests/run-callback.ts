/** Runs a callback of the caller's for a server, and says whose fault it was when it fails. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { redactText } from "../../util/redact-text.js";
import type { RequestOrigin } from "./request-origin.js";

/** What the callback throws becomes the cause of a `REFUSED`; after an abort the abort's reason counts. */
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
    const said = error instanceof Error ? redactText(error.message) : "";
    throw new ToolCallError({
      code: "REFUSED",
      server: origin.server,
      tool: origin.tool,
      what: `${option} failed while the server waited for its answer${said === "" ? "" : `: ${said}`}`,
      next: `Mend ${option}`,
      cause: error,
    });
  }
}

/** The answer of a callback is not one that can be sent. */
export function unusableAnswer(
  option: string,
  { server, tool }: RequestOrigin,
  details: { what: string; issues?: readonly { path: string; message: string }[] },
): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server,
    tool,
    what: `The answer of ${option} cannot be sent: ${details.what}`,
    next: `Mend what ${option} returns`,
    issues: details.issues,
  });
}

/** The server wants something that nothing here can give. */
export function notServed(
  { server, tool }: RequestOrigin,
  { wanted, option }: { wanted: string; option: string },
): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    tool,
    what: `The server wanted ${wanted}, which nothing here can serve`,
    next: `Give createToolport the option \`${option}\``,
  });
}
