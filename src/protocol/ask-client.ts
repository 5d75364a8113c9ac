/** Passes a question of a server on to the client of a gateway. */
import { ToolCallError } from "../errors/tool-call-error.js";
import type { Relay, RelayedQuestion } from "./relay.js";

/** The capability that a client declares for each question. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Throws unless the client declared that it answers such questions. */
export function assertDeclared(server: string, { capabilities }: Relay, { method }: RelayedQuestion): void {
  const capability = Object.hasOwn(CAPABILITIES, method) ? CAPABILITIES[method] : undefined;
  if (capability !== undefined && capabilities[capability] !== undefined) return;
  throw new ToolCallError({
    code: "PROTOCOL",
    server,
    what: "The server sent a request for which the client declared no capability",
    next: "Use a client that supports it, or report this to the author of the server",
  });
}

/** Asks the client of the gateway. Rejects with a `ToolCallError` if the client did not declare the capability. */
export async function askClient(
  server: string,
  relay: Relay,
  question: RelayedQuestion,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  assertDeclared(server, relay, question);
  return relay.answer(question, signal);
}
