/** The callers of a session: what each declares to servers, and who answers the questions of servers and gets their log messages. */

import { type Fields, type LogLevel, ToolCallError } from "@toolport/base";

/** A question of a server: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface ServerQuestion {
  readonly method: string;
  /** Without a progress token, which belongs to the connection of the server. */
  readonly params?: Fields | undefined;
  /** Set if the server wants to know the progress of the answer: takes the parameters of `notifications/progress`. */
  readonly onProgress?: ((params: Fields) => void) | undefined;
}

/** A caller with capabilities of its own. Requests without one are those of the port, with the callbacks of its options. */
export interface SessionHooks {
  /** What the caller declared. Modern servers get it with each request, legacy ones at the handshake of a connection for this set. */
  readonly capabilities: Fields;
  /** Canonical JSON of `capabilities`, `""` if empty: the key of the connections to legacy servers. */
  readonly capabilityKey: string;
  /** Minimum level of the log messages that the caller wants. */
  readonly logLevel?: LogLevel | undefined;
  /** The caller answers `input_required` results itself, so they are returned as they are. Otherwise the rounds run here. */
  readonly passesInput: boolean;
  /**
   * Answers a question of a server. If it rejects with an error that has a numeric `code`, a legacy server gets that code and the
   * message.
   */
  answer(question: ServerQuestion, signal: AbortSignal): Promise<Fields>;
  /**
   * Receives the log messages that belong to a request. If the transport does not show to which request a message belongs, all
   * requests in flight on the connection receive it: they are all of the same user. Messages of every level come here.
   *
   * @param params those of `notifications/message`, without secrets of the configuration
   * @param sent the same as the server sent them; identifies the message
   */
  onLog?(params: Fields, sent: Fields): void;
}

/** The next round of a request whose result asked for input, as its caller kept it. */
export interface InputRound {
  readonly inputResponses?: Fields | undefined;
  readonly requestState?: string | undefined;
}

/** The capability that a caller declares for each question. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Throws unless the caller declared that it answers such questions. */
export function assertDeclared(
  server: string,
  { capabilities }: SessionHooks,
  { method }: ServerQuestion,
): void {
  const capability = Object.hasOwn(CAPABILITIES, method) ? CAPABILITIES[method] : undefined;
  if (capability !== undefined && capabilities[capability] !== undefined) return;
  throw new ToolCallError({
    code: "PROTOCOL",
    server,
    what: "The server sent a request for which the client declared no capability",
    next: "Use a client that supports it, or report this to the author of the server",
  });
}

/** Asks the caller. Rejects with a `ToolCallError` if it did not declare the capability. */
export async function askCaller(
  server: string,
  hooks: SessionHooks,
  question: ServerQuestion,
  signal: AbortSignal,
): Promise<Fields> {
  assertDeclared(server, hooks, question);
  return hooks.answer({ ...question, params: withoutProgressToken(question.params) }, signal);
}

/** Asks everything that one result requests at the same time, or nothing. The first failure aborts the others. */
export async function askAll(
  server: string,
  hooks: SessionHooks,
  questions: readonly (readonly [name: string, question: ServerQuestion])[],
  signal: AbortSignal,
): Promise<Fields> {
  for (const [, question] of questions) assertDeclared(server, hooks, question);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  try {
    const answers = questions.map(
      async ([name, question]) => [name, await askCaller(server, hooks, question, either)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

type Params = ServerQuestion["params"];

const metaOf = (params: Params) => params?.["_meta"] as Fields | undefined;

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
