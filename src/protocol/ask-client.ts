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
  return relay.answer({ ...question, params: withoutProgressToken(question.params) }, signal);
}

type Params = RelayedQuestion["params"];

const metaOf = (params: Params) => params?.["_meta"] as Readonly<Record<string, unknown>> | undefined;

/** The token under which a server wants to know the progress of an answer. */
export function progressTokenOf(params: Params): string | number | undefined {
  const token = metaOf(params)?.["progressToken"];
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

/** The same parameters without the token. */
export function withoutProgressToken(params: Params): Params {
  const meta = metaOf(params);
  if (meta?.["progressToken"] === undefined) return params;
  const { progressToken: _, ...others } = meta;
  const { _meta, ...rest } = params!;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}
