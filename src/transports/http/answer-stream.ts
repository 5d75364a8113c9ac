/** The event stream that answers one request. */

import type { EndpointContext } from "./endpoint-context.js";
import { EventFrames, type EventFramesOptions } from "./events/event-frames.js";
import { parseEvent } from "./events/parse-event.js";
import { tooLarge } from "./network/http-errors.js";
import type { AnswerBody, BodySink } from "./network/wire-client.js";
import { readMessage } from "./read-message.js";
import type { OpenRequest } from "./request-ledger.js";

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
