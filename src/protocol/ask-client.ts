/** Passes a question of a server on to the client of a gateway. */
import { ToolCallError } from "../errors/tool-call-error.js";
import type { Relay, RelayedQuestion } from "./relay.js";

/** The capability that a client declares for each question. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Asks the client of the gateway. Rejects with a `ToolCallError` if the client did not declare the capability. */
export async function askClient(
  server: string,
  relay: Relay,
  { method, params }: RelayedQuestion,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const capability = Object.hasOwn(CAPABILITIES, method) ? CAPABILITIES[method] : undefined;
  if (capability === undefined || relay.capabilities[capability] === undefined)
    throw new ToolCallError({
      code: "PROTOCOL",
      server,
      what: "The server sent a request for which the client declared no capability",
      next: "Use a client that supports it, or report this to the author of the server",
    });
  return relay.answer({ method, params }, signal);
}
