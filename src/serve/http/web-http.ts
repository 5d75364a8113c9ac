/** Serves web requests: `fetch(request)` for runtimes and frameworks that use `Request` and `Response`. */
import { Fault, INVALID_REQUEST } from "../faults.js";
import { JsonPieces, type JsonText } from "../json-text.js";
import type { EventSink, Headers, HttpReply, HttpRequest } from "./http-request.js";

export class FetchRequest implements HttpRequest {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get target(): string {
    const { pathname, search } = new URL(this.#request.url);
    return pathname + search;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name);
    // Requests that a program makes itself have no host header.
    return value ?? (name === "host" ? new URL(this.#request.url).host : undefined);
  }

  async body(maxBytes: number): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    const reader = this.#request.body?.getReader();
    if (reader === undefined) return "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        await reader.cancel();
        throw new Fault({
          code: INVALID_REQUEST,
          message: `The body is larger than ${maxBytes} bytes`,
          status: 413,
        });
      }
      text += decoder.decode(value, { stream: true });
    }
  }

  toRequest(): Request {
    return this.#request;
  }
}

export class FetchReply implements HttpReply {
  readonly response: Promise<Response>;
  readonly #gone = new Set<() => void>();
  #resolve!: (response: Response) => void;
  #isComplete = false;

  constructor(signal: AbortSignal | undefined) {
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    signal?.addEventListener("abort", () => this.#lost(), { once: true });
  }

  send(status: number, headers: Headers, body?: JsonText): void {
    this.#isComplete = true;
    const given = body instanceof JsonPieces ? body.toBytes() : body;
    this.#resolve(new Response(status === 204 ? null : (given ?? null), { status, headers }));
  }

  async respond(given: Response): Promise<void> {
    this.#isComplete = true;
    this.#resolve(given);
  }

  open(headers: Headers): EventSink {
    const encoder = new TextEncoder();
    const drains = new Set<() => void>();
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (given) => {
          controller = given;
        },
        pull: () => {
          for (const drained of drains) drained();
        },
        cancel: () => this.#lost(),
      },
      { highWaterMark: 16 },
    );
    this.#resolve(new Response(stream, { status: 200, headers }));
    const close = (end: () => void) => {
      if (this.#isComplete) return;
      this.#isComplete = true;
      end();
    };
    return {
      write: (text) => {
        if (this.#isComplete) return true;
        controller.enqueue(encoder.encode(text));
        return (controller.desiredSize ?? 1) > 0;
      },
      onDrain: (listener) => void drains.add(listener),
      end: () => close(() => controller.close()),
      destroy: () => close(() => controller.error(new Error("The stream was cut"))),
    };
  }

  /** The server that calls `fetch` owns the body. */
  untilSent(): undefined {
    return undefined;
  }

  onGone(listener: () => void): void {
    this.#gone.add(listener);
  }

  #lost(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    for (const listener of this.#gone) listener();
  }
}
