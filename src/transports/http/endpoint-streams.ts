/** The event streams of one connection: reads responses, resumes broken ones, and opens the listening stream. */
import type { ConnectionError } from "../../errors/toolport-error.js";
import type { EndpointRequest, EndpointResponse } from "./endpoint.js";
import { EventFrames, type EventFramesOptions } from "./events/event-frames.js";
import { parseEvent, readMessage } from "./events/parse-event.js";
import { ListeningStream, ReconnectTimers } from "./listening-stream.js";
import { badResponse, sessionLost, statusError, tooLarge } from "./network/http-errors.js";
import { isEventStream, readShortBody } from "./network/response-body.js";
import type { BodySink, ResponseBody } from "./network/wire-client.js";
import { type EndpointContext, isResumable, type OpenRequest, streamCut } from "./open-requests.js";

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
  listen(sendAfter?: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let isSettled = false;
      const startTimer = () => {
        // The connection may have been closed before the handshake was over.
        if (!isSettled) timer = setTimeout(resolve, OPENING_MS);
      };
      if (sendAfter === undefined) startTimer();
      else void sendAfter.then(startTimer);
      const settle = () => {
        isSettled = true;
        clearTimeout(timer);
        resolve();
      };
      this.#listening.restart(sendAfter).then(settle, settle);
    });
  }

  /** Closes the listening stream. */
  stopListening(): void {
    this.#listening.stop();
  }

  /** Reads the response to a request. */
  read(own: OpenRequest, body: ResponseBody): void {
    new ResponseStream({ context: this.#context, own, body, onRetry: this.#onRetry, onEnd: this.#onEnd });
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

  readonly #onRetry = (delayMs: number): void => {
    this.#timers.retryMs = delayMs;
  };

  readonly #onEnd = (own: OpenRequest): void => {
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
  };

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

interface ResponseStreamOptions {
  readonly context: EndpointContext;
  readonly own: OpenRequest;
  readonly body: ResponseBody;
  readonly onRetry: (delayMs: number) => void;
  /** Called when the stream ends; the request may still be open. */
  readonly onEnd: (own: OpenRequest) => void;
}

/** Passes on every message of one response. An event over the size limit ends the stream and fails the request. */
class ResponseStream implements BodySink, EventFramesOptions {
  readonly maxBytes: number;
  readonly #init: ResponseStreamOptions;
  readonly #frames: EventFrames;
  #open = true;

  constructor(init: ResponseStreamOptions) {
    this.#init = init;
    this.maxBytes = init.context.maxMessageBytes;
    this.#frames = new EventFrames(this);
    init.body.pipe(this);
  }

  chunk(bytes: Uint8Array): boolean {
    this.#frames.push(bytes);
    return true;
  }

  end(): void {
    this.#finish();
  }

  fail(error: unknown): void {
    this.#finish(error);
  }

  onEvent(bytes: Uint8Array): void {
    const { context, own, onRetry } = this.#init;
    const event = parseEvent(bytes);
    if (event.retryMs !== undefined) onRetry(event.retryMs);
    if (event.id) {
      own.token = event.id;
      own.options?.onresumptiontoken?.(event.id);
    }
    const message = readMessage(event, context);
    if (message === undefined) return;
    // A resumed request has a new id; replayed messages contain the old one.
    const replayed = own.options?.resumptionToken !== undefined && !("method" in message);
    context.onMessage(replayed ? { ...message, id: own.id } : message, own);
  }

  onOversized(): "stop" {
    const { context, own, body } = this.#init;
    this.#open = false;
    body.cancel();
    context.endpoint.release(own.exchange);
    context.requests.ended(own);
    context.requests.cut(own, tooLarge(this.maxBytes));
    return "stop";
  }

  #finish(cause?: unknown): void {
    if (!this.#open) return;
    this.#open = false;
    const { context, own, onEnd } = this.#init;
    own.cause = cause;
    context.endpoint.release(own.exchange);
    context.requests.ended(own);
    onEnd(own);
  }
}
