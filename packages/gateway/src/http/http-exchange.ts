/** The way back to a client that sent its request by HTTP: one JSON document, or an event stream as soon as there is more to say. */

import type { DeadlineClock } from "@toolport/core/internal";
import { internalFault } from "../faults.js";
import type { Exchange, GatewayClient, OpenStream, RequestId } from "../message.js";
import { isPast, type Seal } from "../replicas/seal.js";
import type { GatewayParts } from "../request-context.js";
import { errorText, type Json, toText } from "../results.js";
import { EventStream } from "./event-stream.js";
import { type Headers, type HttpReply, type HttpRequest, JSON_HEADERS } from "./http-request.js";

/** A call that takes longer gets a stream, so that proxies see that it is alive. */
const LONG_MS = 15_000;
/** The same for clients that can resume a stream: they learn early how. */
const LONG_IF_PRIMED_MS = 50;

/** What all exchanges of an endpoint share. */
export interface SharedByExchanges {
  readonly parts: GatewayParts;
  /** Keeps open streams for the shutdown. */
  readonly streams: Set<EventStream>;
  /** One timer for all exchanges. */
  readonly clock: DeadlineClock;
}

interface HttpExchangeInit {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly client: GatewayClient;
  /** The id of the request; undefined for a batch. */
  readonly id?: RequestId | undefined;
  readonly headers: Headers;
}

/** Whether the client accepts an event stream. */
export function acceptsStream(request: HttpRequest): boolean {
  const accept = request.header("accept");
  return accept === undefined || accept.includes("text/event-stream") || accept.includes("*/*");
}

export class HttpExchange implements Exchange {
  slot = -1;
  readonly isBackground = true;
  readonly #abort = new AbortController();
  readonly signal: AbortSignal = this.#abort.signal;
  readonly #acceptsStream: boolean;
  readonly #isPrimed: boolean;
  readonly #longAt: number;
  #stream: EventStream | undefined;

  constructor(
    private readonly shared: SharedByExchanges,
    private readonly init: HttpExchangeInit,
  ) {
    const { client, id, reply, request } = init;
    this.#acceptsStream = acceptsStream(request);
    const { era, session, version } = client;
    this.#isPrimed =
      id !== undefined && era === "legacy" && session !== undefined && version >= FIRST_PRIMED_VERSION;
    this.#longAt = performance.now() + (this.#isPrimed ? LONG_IF_PRIMED_MS : LONG_MS);
    reply.onGone(() => this.abort(new Error("The client is gone")));
    if (this.#acceptsStream) shared.clock.add(this);
  }

  header(name: string): string | undefined {
    return this.init.request.header(name);
  }

  get ask(): Exchange["ask"] {
    const { client } = this.init;
    const canAsk = this.#acceptsStream && client.era === "legacy" && client.session !== undefined;
    if (!canAsk) return undefined;
    return (method, params, signal) => {
      const stream = this.#open();
      const question = { method, params, send: (text: string) => stream.send(text) };
      return this.shared.parts.questions.ask(client.principal, question, signal);
    };
  }

  get hold(): Exchange["hold"] {
    return this.#acceptsStream ? () => this.#hold() : undefined;
  }

  /** When the call counts as long. */
  dueAt(): number {
    return this.#longAt;
  }

  extend(): boolean {
    return false;
  }

  /** A long call gets a stream. */
  expire(): void {
    this.#open().flush();
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  notify(text: string): void {
    if (this.#acceptsStream && !this.signal.aborted) this.#open().send(text);
  }

  /** Ends the exchange with one response. */
  finish(json: Json, status: number, headers?: Headers): void {
    this.shared.clock.delete(this);
    if (this.#stream === undefined)
      return this.init.reply.send(status, { ...this.init.headers, ...JSON_HEADERS, ...headers }, json);
    this.#stream.sendResult(toText(json));
    this.#stream.end();
    this.shared.streams.delete(this.#stream);
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const { reply, headers, client, id } = this.init;
      const { parts, clock } = this.shared;
      clock.delete(this);
      const first = this.#isPrimed ? primingEvent(parts, client.session!, id!) : "";
      this.#stream = new EventStream(reply, headers, first);
    }
    return this.#stream;
  }

  #hold(): OpenStream {
    const stream = this.#open();
    stream.flush();
    stream.endWithCredential(this.init.client.expiresAt);
    this.shared.streams.add(stream);
    void stream.closed.then(() => this.shared.streams.delete(stream));
    return stream;
  }
}

const PURPOSE = "stream";
/** Clients of earlier revisions cannot read an event without data. */
const FIRST_PRIMED_VERSION = "2025-11-25";
const RETRY_MS = 1_000;

/**
 * The client knows its own request id, so the id of the event is signed and not encrypted, which takes a tenth of the time:
 * `<expiry>.<request id>.<hash>`.
 */
function primingEvent(
  { seal, stateTtlMs }: Pick<GatewayParts, "seal" | "stateTtlMs">,
  session: string,
  id: RequestId,
): string {
  const named = `${Date.now() + stateTtlMs}.${Buffer.from(JSON.stringify(id)).toString("base64url")}`;
  return `id: ${named}.${signatureOf(seal, session, named)}\nretry: ${RETRY_MS}\ndata: \n\n`;
}

/** Line breaks separate the parts: neither has one. */
const signatureOf = (seal: Pick<Seal, "mac">, session: string, named: string, like?: string): string =>
  seal.mac(PURPOSE, `${session}\n${named}`, like);

const EVENT_ID = /^((\d{1,16})\.([\w-]+))\.([\w-]+\.[\w-]+)$/;

/** The response to the request whose stream a client resumes; undefined for an id of something else. */
export function lostResponse(
  { seal }: Pick<GatewayParts, "seal">,
  session: string,
  lastEventId: string | undefined,
): string | undefined {
  const [, named, expiry, id, signature] = EVENT_ID.exec(lastEventId ?? "") ?? [];
  if (named === undefined || isPast(Number(expiry))) return undefined;
  // A client that tries signatures has the session already, and could only send a wrong answer to itself.
  if (signatureOf(seal, session, named, signature) !== signature) return undefined;
  const failure = { code: "CLOSED", retryable: false, outcome: "unknown" };
  const lost = internalFault(
    "The connection was lost during the request, and its outcome is unknown",
    failure,
  );
  return errorText(JSON.parse(Buffer.from(id!, "base64url").toString()), lost);
}
