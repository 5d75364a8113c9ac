/** Serves requests of Node's HTTP server without web streams, which cost three times as much. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ChunkList } from "@toolport/base";
import { Fault, INTERNAL_ERROR, INVALID_REQUEST } from "../faults.js";
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

export class NodeRequest implements HttpRequest {
  readonly method: string;

  constructor(
    private readonly message: IncomingMessage,
    readonly target = message.url ?? "/",
  ) {
    this.method = message.method ?? "GET";
  }

  unmounted(): NodeRequest | undefined {
    const { originalUrl } = this.message as { originalUrl?: unknown };
    return typeof originalUrl === "string" && originalUrl !== this.target
      ? new NodeRequest(this.message, originalUrl)
      : undefined;
  }

  header(name: string): string | undefined {
    const value = this.message.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  body({ maxBytes, timeoutMs, takeBytes }: BodyLimits): Promise<string> {
    const message = this.message;
    // Adapters such as Express parse the body before.
    const parsed = (message as { body?: unknown }).body;
    if (parsed !== undefined && !isPlaceholder(parsed, message)) return Promise.resolve(toText(parsed));
    // No event would follow.
    if (message.readableEnded) return Promise.reject(bodyRead());
    if (message.destroyed) return Promise.reject(cutBody());
    if (Number(message.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
    return new Promise((resolve, reject) => {
      const body = new ChunkList();
      const stop = (error: unknown) => {
        clearTimeout(timer);
        message.pause();
        message.removeAllListeners("data");
        reject(error);
      };
      const timer = setTimeout(() => stop(closing(bodyTooSlow(timeoutMs))), timeoutMs);
      message.on("data", (chunk: Buffer) => {
        if (body.byteLength + chunk.length > maxBytes) return stop(tooLarge(maxBytes));
        try {
          takeBytes(chunk.length);
          body.push(chunk);
        } catch (error) {
          stop(closing(error));
        }
      });
      message.on("end", () => {
        clearTimeout(timer);
        const { buffer, byteOffset, byteLength } = body.takeBlock();
        resolve(Buffer.from(buffer, byteOffset, byteLength).toString("utf8"));
      });
      message.on("error", reject);
      message.on("close", () => {
        clearTimeout(timer);
        // Every request ends with this event, and the stack of an error is expensive.
        if (!message.readableEnded) reject(cutBody());
      });
    });
  }

  toRequest(): Request {
    const { headers } = this.message;
    const host = headers.host ?? "localhost";
    const list = Object.keys(headers).flatMap((name): [string, string][] => {
      const value = this.header(name);
      return value === undefined || name.startsWith(":") ? [] : [[name, value]];
    });
    return new Request(new URL(this.target, `http://${host}`), { method: this.method, headers: list });
  }
}

function toText(parsed: unknown): string {
  if (typeof parsed === "string") return parsed;
  if (parsed instanceof Uint8Array) return new TextDecoder().decode(parsed);
  try {
    return JSON.stringify(parsed);
  } catch (error) {
    // Writing a value needs more stack than parsing it.
    if (!(error instanceof RangeError)) throw error;
    throw new Fault(INVALID_REQUEST, "Invalid request: The message is nested too deep", { status: 400 });
  }
}

/** Parsers of Express 4 set an empty object for bodies that they leave to others. */
const isPlaceholder = (parsed: unknown, message: IncomingMessage): boolean =>
  !message.readableDidRead &&
  typeof parsed === "object" &&
  parsed !== null &&
  Object.getPrototypeOf(parsed) === Object.prototype &&
  Object.keys(parsed).length === 0;

/** A mistake in the program around the gateway, such as a Fastify route. */
const bodyRead = (): Fault =>
  new Fault(
    INTERNAL_ERROR,
    "The body was read before the gateway got the request. Pass the parsed body on: gateway.node(Object.assign(request.raw, { body: request.body }), reply.raw)",
    { status: 500 },
  );

const cutBody = (): Fault => new Fault(INVALID_REQUEST, "The body was cut", { status: 400 });

/** The rest of the body is not read, so the connection cannot be used again. */
const closing = (error: unknown): unknown =>
  error instanceof Fault
    ? new Fault(error.code, error.message, { ...error, headers: { ...error.headers, connection: "close" } })
    : error;

const tooLarge = (maxBytes: number): Fault => bodyTooLarge(maxBytes, { connection: "close" });

/** What a socket holds in any case. */
const UNSENT_BYTES = 64 * 1024;

const LARGE_CHARS = 64 * 1024;

export class NodeReply implements HttpReply {
  constructor(private readonly response: ServerResponse) {}

  send(status: number, headers: Headers, body?: Json): void {
    const response = this.response;
    if (response.headersSent || response.destroyed) return;
    // Node copies a text once more, to put the headers before it: a fifth of "1 MB result → HTTP".
    const sent = typeof body === "string" && body.length > LARGE_CHARS ? Buffer.from(body) : body;
    const length = sent !== undefined && { "content-length": Buffer.byteLength(sent) };
    response.writeHead(status, { ...headers, ...length });
    response.end(sent);
  }

  async respond(given: Response): Promise<void> {
    const body = Buffer.from(await given.arrayBuffer());
    const cookies = given.headers.getSetCookie();
    this.response.writeHead(given.status, {
      ...Object.fromEntries(given.headers),
      ...(cookies.length > 0 && { "set-cookie": cookies }),
      "content-length": body.length,
    });
    this.response.end(body);
  }

  open(headers: Headers): EventSink {
    const response = this.response;
    if (!response.headersSent) response.writeHead(200, headers);
    return {
      flush: () => response.flushHeaders(),
      write: (text) => response.write(text),
      onDrain: (listener) => void response.on("drain", listener),
      end: () => void response.end(),
      destroy() {
        // What was written in this tick leaves first: a client without headers could not tell a cut stream from a refused request.
        const { socket } = response;
        while (socket !== null && socket.writableCorked > 0) socket.uncork();
        response.destroy();
      },
    };
  }

  untilSent(stalledMs: number): Promise<void> | undefined {
    const response = this.response;
    if (response.writableLength <= UNSENT_BYTES || response.destroyed) return undefined;
    return new Promise((resolve) => {
      response.once("close", resolve);
      // Counts only while the client reads nothing. Node sets its own limit when the response has been sent.
      response.setTimeout(stalledMs, () => response.destroy());
    });
  }

  onGone(listener: () => void): void {
    const response = this.response;
    if (response.destroyed && !response.writableFinished) return listener();
    response.once("close", () => {
      if (!response.writableFinished) listener();
    });
  }
}
