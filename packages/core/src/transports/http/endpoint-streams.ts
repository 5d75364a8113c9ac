/** The event streams of one connection: reads responses, resumes broken ones, and opens the listening stream. */

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import {
  backoffMs,
  ConnectionError,
  fullJitterMs,
  parseJson,
  pause,
  sleep,
  unrefTimer,
} from "@toolport/base";
import {
  badResponse,
  isEventStream,
  parseRetryAfter,
  readShortBody,
  sessionLost,
  statusError,
  tooLarge,
} from "@toolport/http";
import { ABANDONED, type ResponseBody } from "@toolport/http/wire-client";
import { asRpcError, parseMessage } from "../server-transport.js";
import {
  type EndpointContext,
  type EndpointRequest,
  type EndpointResponse,
  type Exchange,
  isResumable,
  type OpenRequest,
  streamCut,
} from "./endpoint.js";
import { HttpErrorResponse } from "./error-response.js";
import { EventFrames, parseEvent, readSharedEvents, type ServerEvent } from "./event-frames.js";

const OPENING_MS = 500;

export class EndpointStreams {
  readonly #context: EndpointContext;
  readonly #timers = new ReconnectTimers();
  readonly #listening: ListeningStream;

  constructor(context: EndpointContext) {
    this.#context = context;
    this.#listening = new ListeningStream(context, this.#timers);
  }

  /**
   * Opens the listening stream. Never rejects. The caller waits for it, because requests that the server sends before it is
   * open are lost; but not longer than {@link OPENING_MS}, because some servers respond only with their first event.
   *
   * @param sendAfter requests the stream when this promise resolves, and prepares its socket before
   */
  async listen(sendAfter?: Promise<void>): Promise<void> {
    const settled = new AbortController();
    const opening = this.#listening.restart(sendAfter).finally(() => settled.abort());
    const patience = Promise.resolve(sendAfter)
      .then(() => sleep(OPENING_MS, settled.signal))
      .catch(() => {});
    await Promise.race([opening, patience]);
  }

  /** Closes the listening stream. */
  stopListening(): void {
    this.#listening.stop();
  }

  /** Passes on every message of one response. An event over the size limit ends the stream and fails the request. */
  read(own: OpenRequest, body: ResponseBody): void {
    const { endpoint, requests, maxMessageBytes: maxBytes } = this.#context;
    let isOpen = true;
    const close = () => {
      isOpen = false;
      endpoint.release(own.exchange);
      requests.ended(own);
    };
    const finish = (cause?: unknown) => {
      if (!isOpen) return;
      own.cause = cause;
      close();
      this.#afterEnd(own);
    };
    const frames = new EventFrames({
      maxBytes,
      onEvent: (bytes) => this.#receive(own, bytes),
      onOversized: () => {
        body.cancel();
        close();
        requests.cut(own, tooLarge(maxBytes));
        return "stop";
      },
    });
    body.pipe({
      chunk(bytes) {
        frames.push(bytes);
        return true;
      },
      end: () => finish(),
      fail: finish,
    });
  }

  #receive(own: OpenRequest, bytes: Uint8Array): void {
    const event = parseEvent(bytes);
    if (event.retryMs !== undefined) this.#timers.retryMs = event.retryMs;
    if (event.id) {
      own.token = event.id;
      own.options?.onresumptiontoken?.(event.id);
    }
    const message = readMessage(event, this.#context);
    if (message === undefined) return;
    // A resumed request has a new id; replayed messages contain the old one.
    const replayed = own.options?.resumptionToken !== undefined && !("method" in message);
    this.#context.onMessage(replayed ? { ...message, id: own.id } : message, own);
  }

  /** Requests the rest of a response. Never rejects. */
  async resume(own: OpenRequest): Promise<void> {
    const { endpoint, messageHeaders, requests } = this.#context;
    const request: EndpointRequest = {
      method: "GET",
      fields: messageHeaders.forStream(own.token),
      exchange: own.exchange,
      background: true,
    };
    try {
      const response = await endpoint.send(request);
      if (isEventStream(response)) {
        own.streamEnded = false;
        return this.read(own, response.body);
      }
      requests.cut(own, await this.#refused(response));
    } catch (error) {
      requests.cut(own, streamCut(error));
    }
    endpoint.release(own.exchange);
    requests.ended(own);
  }

  close(): void {
    this.#timers.clear();
  }

  /** The stream of a response has ended; the request may still be open. */
  #afterEnd(own: OpenRequest): void {
    const { endpoint, requests } = this.#context;
    if (own.exchange.aborted) return;
    if (own.settled) return own.options?.onRequestStreamEnd?.();
    // No retry: a caller that waits for the response has to learn at once that it will not arrive.
    if (!isResumable(own)) return requests.cut(own);
    this.#timers.schedule(() => {
      if (own.settled) return;
      own.exchange = endpoint.begin();
      void this.resume(own);
    });
  }

  async #refused(response: EndpointResponse): Promise<ConnectionError> {
    const bytes = await readShortBody(response);
    if (this.#listening.meansSessionLost(response, bytes)) {
      // The server accepted the request: only the rest of its response is lost.
      const error = sessionLost(response.status).withOutcome("unknown");
      this.#context.onSessionLost(error);
      return error;
    }
    const { redact } = this.#context;
    if (response.status >= 400) return streamCut(statusError(response, bytes, redact));
    return streamCut(badResponse({ response, why: "is not an event stream", bytes, redact }));
  }
}

const decoder = new TextDecoder();

/** A server that restarts closes this stream for all clients: they reconnect at random times within this period. */
const SPREAD_MS = 1_000;

class ListeningStream {
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

  #onEvent(bytes: Uint8Array): void {
    const event = parseEvent(bytes);
    this.#idleEnds = 0;
    if (event.retryMs !== undefined) this.#timers.retryMs = event.retryMs;
    if (event.id) this.#token = event.id;
    const message = readMessage(event, this.#context);
    if (message !== undefined) this.#context.onMessage(message);
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

/** Undefined if the event contains no message: another type, no data, or not JSON-RPC (which is reported). */
export function readMessage(
  { type, data }: ServerEvent,
  context: Pick<EndpointContext, "onDiscard" | "onError">,
): JSONRPCMessage | undefined {
  if (data === undefined || data === "" || (type !== "" && type !== "message")) return undefined;
  const parsed = parseMessage(data);
  if (parsed !== undefined && !(parsed instanceof Set)) return parsed as JSONRPCMessage;
  const error = noMessage();
  // Fail the requests that the batch answers, or they would wait for their timeouts.
  for (const id of parsed ?? []) context.onDiscard({ id, error });
  context.onError(error);
  return undefined;
}

function noMessage(): ConnectionError {
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: "The server sent an event that is not a JSON-RPC message; it is skipped",
  });
}
