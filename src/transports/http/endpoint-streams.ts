/** The streams of one connection: what answers a request, what comes of a broken one, and what the server may always write to. */
import type { ConnectionError } from "../../errors/connection-error.js";
import type { EndpointRequest } from "./endpoint.js";
import type { EndpointContext } from "./endpoint-context.js";
import { EventFrames, type EventFramesOptions } from "./events/event-frames.js";
import { parseEvent, readMessage } from "./events/parse-event.js";
import { ListeningStream } from "./listening-stream.js";
import { badResponse, sessionLost, statusError, tooLarge } from "./network/http-errors.js";
import { isEventStream, readRefusal } from "./network/response-body.js";
import type { AnswerBody, BodySink, WireAnswer } from "./network/wire-client.js";
import { isResumable, type OpenRequest, streamCut } from "./open-requests.js";
import { ReconnectTimers } from "./reconnect-timers.js";

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
   * Opens the stream for whatever the server may have to say. Never rejects. It is waited for, because what a server asks
   * before it is open is lost; but not for long, because some servers answer only when they have something to say.
   */
  listen(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, OPENING_MS);
      const settle = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#listening.open().then(settle, settle);
    });
  }

  /** Reads what answers a request. */
  read(own: OpenRequest, body: AnswerBody): void {
    new AnswerStream({ context: this.#context, own, body, onRetry: this.#onRetry, onEnd: this.#onEnd });
  }

  /** Asks for the rest of an answer. Never rejects. */
  async resume(own: OpenRequest): Promise<void> {
    const { endpoint, fields, ledger } = this.#context;
    const request: EndpointRequest = {
      method: "GET",
      fields: fields.forStream(own.token),
      line: own.line,
      standing: true,
    };
    try {
      const answer = await endpoint.send(request);
      if (isEventStream(answer)) {
        own.streamEnded = false;
        return this.read(own, answer.body);
      }
      ledger.cut(own, await this.#refused(answer, request));
    } catch (error) {
      ledger.cut(own, streamCut(error));
    }
    endpoint.over(own.line);
    ledger.ended(own);
  }

  close(): void {
    this.#timers.clear();
  }

  readonly #onRetry = (delayMs: number): void => {
    this.#timers.retryMs = delayMs;
  };

  readonly #onEnd = (own: OpenRequest): void => {
    const { endpoint, ledger } = this.#context;
    if (own.line.aborted) return;
    if (own.settled) return own.options?.onRequestStreamEnd?.();
    // One try: whoever waits for the rest of an answer has to know at once that it will not come.
    if (!isResumable(own)) return ledger.cut(own);
    this.#timers.schedule(() => {
      if (own.settled) return;
      own.line = endpoint.begin();
      void this.resume(own);
    });
  };

  async #refused(answer: WireAnswer, request: EndpointRequest): Promise<ConnectionError> {
    const bytes = await readRefusal(answer);
    if (this.#listening.meansLost(request, answer, bytes)) {
      // The request itself was taken: only the rest of its answer is gone.
      const error = sessionLost(answer.status).withOutcome("unknown");
      this.#context.onSessionLost(error);
      return error;
    }
    const { redact } = this.#context;
    if (answer.status >= 400) return streamCut(statusError(answer, bytes, redact));
    return streamCut(badResponse({ answer, why: "is no event stream", bytes, redact }));
  }
}

export interface AnswerStreamInit {
  readonly context: EndpointContext;
  readonly own: OpenRequest;
  readonly body: AnswerBody;
  readonly onRetry: (delayMs: number) => void;
  /** Nothing more comes; the request may still be open. */
  readonly onEnd: (own: OpenRequest) => void;
}

/** Hands on every message as it comes. An event over the limit ends the stream, and the request with it. */
export class AnswerStream implements BodySink, EventFramesOptions {
  readonly maxBytes: number;
  readonly #init: AnswerStreamInit;
  readonly #frames: EventFrames;
  #open = true;

  constructor(init: AnswerStreamInit) {
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
    // Asked for anew under another id: what is replayed names the old one.
    const replayed = own.options?.resumptionToken !== undefined && !("method" in message);
    context.onMessage(replayed ? { ...message, id: own.id } : message, own);
  }

  onOversized(): "stop" {
    const { context, own, body } = this.#init;
    this.#open = false;
    body.cancel();
    context.endpoint.over(own.line);
    context.ledger.ended(own);
    context.ledger.cut(own, tooLarge(this.maxBytes));
    return "stop";
  }

  #finish(cause?: unknown): void {
    if (!this.#open) return;
    this.#open = false;
    const { context, own, onEnd } = this.#init;
    own.cause = cause;
    context.endpoint.over(own.line);
    context.ledger.ended(own);
    onEnd(own);
  }
}
