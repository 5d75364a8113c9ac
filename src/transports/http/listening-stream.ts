/** The GET stream on which the server may send messages at any time. It is reopened for as long as the connection lasts. */

import { parseJson } from "../../util/json.js";
import { backoffMs, fullJitterMs, pause, unrefTimer } from "../../util/timers.js";
import { asRpcError } from "../json-rpc-message.js";
import type { EndpointRequest, EndpointResponse, Exchange } from "./endpoint.js";
import { HttpErrorResponse } from "./error-response.js";
import { readSharedEvents } from "./events/event-frames.js";
import { parseEvent, readMessage } from "./events/parse-event.js";
import { parseRetryAfter, sessionLost } from "./network/http-errors.js";
import { isEventStream, readShortBody } from "./network/response-body.js";
import { ABANDONED } from "./network/wire-client.js";
import type { EndpointContext } from "./open-requests.js";

const decoder = new TextDecoder();

/** A server that restarts closes this stream for all clients: they reconnect at random times within this period. */
const SPREAD_MS = 1_000;

export class ListeningStream {
  readonly #context: EndpointContext;
  readonly #timers: ReconnectTimers;
  /** The stream has been open before, so the server supports it. */
  #listened = false;
  /** Consecutive streams that ended without an event. */
  #idleEnds = 0;
  #token: string | undefined;
  /** The exchange of the open stream, or of the attempt to open it. */
  #exchange: Exchange | undefined;
  #isStopped = false;

  constructor(context: EndpointContext, timers: ReconnectTimers) {
    this.#context = context;
    this.#timers = timers;
  }

  /**
   * Tries until the stream is open or the server says that it has none. Never rejects; ends with the connection.
   *
   * @param sendAfter requests the stream when this promise resolves, and prepares its socket before
   */
  async open(attempt = 0, sendAfter?: Promise<void>): Promise<void> {
    const { endpoint, onError } = this.#context;
    if (this.#isStopped) return;
    const exchange = endpoint.begin();
    this.#exchange = exchange;
    try {
      const response = await this.#try(exchange, sendAfter);
      if (response !== undefined) return this.#read(response, exchange);
      endpoint.release(exchange);
      this.#context.onStream("ended");
    } catch (error) {
      endpoint.release(exchange);
      this.#context.onStream("ended");
      if (exchange.aborted) return;
      onError(error as Error);
      // Rejected credentials may be accepted later. Do not retry if the server has never opened this stream.
      if (this.#listened && attempt < MAX_ATTEMPTS) this.#later(attempt + 1);
    }
  }

  /** Opens the stream again after {@link stop}. */
  restart(sendAfter?: Promise<void>): Promise<void> {
    this.#isStopped = false;
    return this.open(0, sendAfter);
  }

  /** Closes the stream, and does not open it again. */
  stop(): void {
    this.#isStopped = true;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange === undefined) return;
    this.#context.onStream("ended");
    this.#context.endpoint.release(exchange);
    exchange.abort(ABANDONED);
  }

  /** A server without GET may also respond with 404. It means the session if GET worked before, or if the body is JSON-RPC. */
  meansSessionLost({ sent, status }: EndpointResponse, bytes: Uint8Array): boolean {
    if (sent["mcp-session-id"] === undefined) return false;
    if (status !== 404 && status !== 400 && status !== 410) return false;
    return this.#listened || (status !== 400 && asRpcError(parseJson(decoder.decode(bytes))) !== undefined);
  }

  /** The stream; undefined if the server offers none. */
  async #try(
    exchange: Exchange,
    sendAfter: Promise<void> | undefined,
  ): Promise<EndpointResponse | undefined> {
    const { endpoint, messageHeaders, onSessionLost, onStream } = this.#context;
    for (let attempt = 1; ; attempt++) {
      const request: EndpointRequest = {
        method: "GET",
        fields: messageHeaders.forStream(this.#token),
        exchange,
        background: true,
        sendAfter,
      };
      let waitMs = fullJitterMs(attempt);
      onStream("requested");
      const response = await endpoint.send(request).catch((error: unknown) => {
        exchange.throwIfAborted();
        if (isOutage(error)) return undefined;
        throw error;
      });
      if (response !== undefined) {
        if (isEventStream(response)) return response;
        const { status, statusText } = response;
        const bytes = await readShortBody(response);
        if (status === 401 || status === 403 || (status >= 300 && status < 400))
          throw new HttpErrorResponse({ status, statusText, text: "" });
        if (status !== 429 && (status < 500 || status === 501)) {
          if (this.meansSessionLost(response, bytes)) onSessionLost(sessionLost(status));
          return undefined;
        }
        waitMs += parseRetryAfter(response.headers.get("retry-after")) ?? 0;
      }
      await pause(waitMs, exchange);
    }
  }

  #read(response: EndpointResponse, exchange: Exchange): void {
    const { endpoint, maxMessageBytes, onDiscard, onStream } = this.#context;
    this.#listened = true;
    onStream("open");
    this.#idleEnds++;
    readSharedEvents(response.body, {
      maxBytes: maxMessageBytes,
      onDiscard,
      onEvent: (bytes) => this.#onEvent(bytes),
      onEnd: () => {
        endpoint.release(exchange);
        if (exchange.aborted) return;
        onStream("ended");
        this.#later(0);
      },
    });
  }

  #onEvent(bytes: Uint8Array): boolean {
    const event = parseEvent(bytes);
    this.#idleEnds = 0;
    if (event.retryMs !== undefined) this.#timers.retryMs = event.retryMs;
    if (event.id) this.#token = event.id;
    const message = readMessage(event, this.#context);
    if (message !== undefined) this.#context.onMessage(message);
    return true;
  }

  #later(attempt: number): void {
    // A response may arrive on this stream: reopen it without extra delay while a call waits.
    const isNeeded = this.#context.requests.isWaiting;
    // Back off if the server keeps closing a stream without sending events.
    const idle = isNeeded ? 0 : this.#idleEnds;
    const exchange = this.#exchange;
    const reopen = () => {
      // The stream may have been stopped and restarted in the meantime.
      if (this.#exchange === exchange) void this.open(attempt);
    };
    this.#timers.schedule(reopen, {
      attempt: Math.max(attempt, idle),
      spreadMs: isNeeded ? 0 : SPREAD_MS,
    });
  }
}

/** The server could not be reached, which may be temporary. */
const isOutage = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === "UNREACHABLE";

/** Delay if the server does not set one. */
const DEFAULT_DELAY_MS = 1_000;
/** Bounds for the delay that servers set with `retry:`. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 60_000;
/** Maximum number of consecutive failures other than network errors, such as rejected credentials. */
const MAX_ATTEMPTS = 20;

export class ReconnectTimers {
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** The last delay that the server set. */
  retryMs = DEFAULT_DELAY_MS;

  /**
   * @param attempt number of consecutive failures; the delay grows with it
   * @param spreadMs maximum of a random delay that is added to the one the server set
   */
  schedule(reconnect: () => void, { attempt = 0, spreadMs = 0 } = {}): void {
    const asked = Math.min(Math.max(this.retryMs, MIN_DELAY_MS), MAX_DELAY_MS);
    const spread = fullJitterMs(1, { baseMs: spreadMs });
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        reconnect();
      },
      Math.max(asked, backoffMs(attempt)) + spread,
    );
    unrefTimer(timer);
    this.#timers.add(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
