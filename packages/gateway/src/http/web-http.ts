/** Serves web requests: `fetch(request)` for runtimes and frameworks that use `Request` and `Response`. */

import { ChunkList, withDeadline } from "@toolport/base";
import type { Json } from "../results.js";
import {
  type BodyLimits,
  bodyTooLarge,
  bodyTooSlow,
  type EventSink,
  type Headers,
  type HttpReply,
  type HttpRequest,
} from "./http-request.js";

export class FetchRequest implements HttpRequest {
  constructor(private readonly request: Request) {}

  get method(): string {
    return this.request.method;
  }

  /** The address of a request is absolute and normalized, so it need not be parsed again. */
  get target(): string {
    const { url } = this.request;
    const path = url.indexOf("/", url.indexOf("//") + 2);
    const hash = url.indexOf("#");
    if (path === -1 || (hash !== -1 && hash < path)) return "/";
    return hash === -1 ? url.slice(path) : url.slice(path, hash);
  }

  header(name: string): string | undefined {
    const value = this.request.headers.get(name);
    // Requests that a program makes itself have no host header.
    return value ?? (name === "host" ? new URL(this.request.url).host : undefined);
  }

  body({ timeoutMs, ...limits }: BodyLimits): Promise<string> {
    const reading = new AbortController();
    const onTimeout = () => {
      const fault = bodyTooSlow(timeoutMs);
      reading.abort(fault);
      return fault;
    };
    return withDeadline(this.#read(limits, reading.signal), { timeoutMs, onTimeout });
  }

  async #read({ maxBytes, takeBytes }: Omit<BodyLimits, "timeoutMs">, signal: AbortSignal): Promise<string> {
    const length = this.request.headers.get("content-length");
    // HTTP servers check the length. Some adapters for Node read a whole body without a web stream, which is much faster.
    if (length !== null && Number(length) <= maxBytes) {
      takeBytes(Math.max(0, Number(length)));
      const bytes = await this.request.arrayBuffer();
      // The program around the gateway has made a request whose header is wrong.
      if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
      return decoder.decode(bytes);
    }
    const body = new ChunkList();
    const reader = this.request.body?.getReader();
    if (reader === undefined) return "";
    signal.addEventListener("abort", () => void reader.cancel(signal.reason).catch(() => {}), { once: true });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return decoder.decode(body.takeBlock());
      try {
        if (body.byteLength + value.length > maxBytes) throw bodyTooLarge(maxBytes);
        takeBytes(value.length);
      } catch (error) {
        await reader.cancel();
        throw error;
      }
      body.push(value);
    }
  }

  toRequest(): Request {
    return this.request;
  }
}

/** One for all requests: a decoder costs more than the text of a short body. */
const decoder = new TextDecoder();

export class FetchReply implements HttpReply {
  readonly response: Promise<Response>;
  readonly #gone: (() => void)[] = [];
  #resolve!: (response: Response) => void;
  #isComplete = false;
  #isGone = false;

  constructor(signal: AbortSignal | undefined) {
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    signal?.addEventListener("abort", () => this.#lost(), { once: true });
  }

  send(status: number, headers: Headers, body?: Json): void {
    this.#isComplete = true;
    this.#resolve(new Response(status === 204 ? null : (body ?? null), { status, headers }));
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
      flush() {},
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
    if (this.#isGone) return listener();
    this.#gone.push(listener);
  }

  #lost(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#isGone = true;
    for (const listener of this.#gone) listener();
  }
}
