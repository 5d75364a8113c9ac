/** A request that Toolport passes on for a client of a gateway, and the questions of servers during it. */

import { ToolCallError } from "../errors/tool-call-error.js";
import type { LogLevel } from "../model/log-levels.js";
import type { Fields } from "../util/is-record.js";

/** A question of a server: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface RelayedQuestion {
  readonly method: string;
  /** Without a progress token, which belongs to the connection of the server. */
  readonly params?: Fields | undefined;
  /** Set if the server wants to know the progress of the answer: takes the parameters of `notifications/progress`. */
  readonly onProgress?: ((params: Fields) => void) | undefined;
}

/** One request of a client of a gateway. Fields marked "Out" are set on the way. */
export interface Relay {
  /** What the client declared. Modern servers get it with this request, legacy ones at the handshake of a connection for this set. */
  readonly capabilities: Fields;
  /** Canonical JSON of `capabilities`, `""` if empty: the key of the connections to legacy servers. */
  readonly capabilityKey: string;
  /** Minimum level of the log messages that the client wants. */
  readonly logLevel?: LogLevel | undefined;
  /**
   * The client answers `input_required` results itself, so they are returned as they are ({@link isInputRequired}). Otherwise
   * `answer` is asked and the rounds run here.
   */
  readonly passesInput: boolean;
  /** The next round of an earlier `input_required` result. */
  readonly inputResponses?: Fields | undefined;
  readonly requestState?: string | undefined;
  /** `task` of a legacy client's `tools/call`: sent as it is. The created task is returned unfollowed. */
  readonly task?: Fields | undefined;
  /** Set for a call that may become a task: its progress is reported until this signal aborts, also after the response. */
  readonly progressUntil?: AbortSignal | undefined;
  /**
   * Sends a question of the server to the client and returns the client's result. If it rejects with an error that has a numeric
   * `code`, a legacy server gets that code and the message.
   */
  answer(question: RelayedQuestion, signal: AbortSignal): Promise<Record<string, unknown>>;
  /**
   * Receives the log messages that belong to this request. If the transport does not show to which request a message belongs, all
   * requests in flight on the connection receive it: they are all of the same user. Messages of every level come here.
   *
   * @param params those of `notifications/message`, without secrets of the configuration
   * @param sent the same as the server sent them; identifies the message
   */
  onLog?(params: Fields, sent: Fields): void;
  /** Whether a fallback server may get the call. `"exact"`: with these arguments only, unrepaired. @default every fallback server may */
  readonly mayUse?: ((server: string, tool: string) => FallbackUse | Promise<FallbackUse>) | undefined;
  /** Out: the result as the server sent it, without `resultType` if that is "complete". */
  raw?: Record<string, unknown>;
  /** Out: the server that answered; after a fallback, another one than that of the tool. */
  server?: string;
  /** Out: `raw` is an `input_required` result. */
  isInputRequired?: boolean;
  /** Out: the largest progress that was reported, so that a retry or a fallback server reports no smaller one. */
  progress?: number;
}

type FallbackUse = boolean | "exact";

/** The request continues an earlier one, so it belongs to the server that was asked then. */
export const continuesRound = (relay: Relay | undefined): boolean =>
  relay !== undefined && (relay.requestState !== undefined || relay.inputResponses !== undefined);

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
