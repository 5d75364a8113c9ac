/** One HTTP request and its response, independent of the server that received it. */
import type { Json } from "../results.js";

export interface HttpRequest {
  readonly method: string;
  /** Path with query. */
  readonly target: string;
  /** The same request at its whole path, if a framework has removed a prefix (`app.use("/mcp", …)` of Express). */
  unmounted?(): HttpRequest | undefined;
  /** Undefined if the header is missing. */
  header(name: string): string | undefined;
  /** The body as text. Rejects with a `Fault` if it is too long, or takes too long. */
  body(limits: BodyLimits): Promise<string>;
  /** The same request for user code. */
  toRequest(): Request;
}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Called with the length of each piece. Throws a `Fault` if the bodies of the user are too long together. */
  takeBytes(bytes: number): void;
}

/** The bytes of a body as they arrive. A list of pieces would take 200 times as much if a client sends single bytes. */
export class BodyBytes {
  #bytes: Uint8Array = new Uint8Array();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The only piece is not copied. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) {
        const bytes = new Uint8Array(Math.max(length, 2 * this.#length));
        bytes.set(this.#bytes);
        this.#bytes = bytes;
      }
      this.#bytes.set(piece, this.#length);
    }
    this.#length = length;
  }

  /** A view. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

export type Headers = Readonly<Record<string, string>>;

export interface HttpReply {
  /** Sends the whole response. */
  send(status: number, headers: Headers, body?: Json): void;
  /** Sends a response of web code, with all its cookies. */
  respond(response: Response): Promise<void>;
  /** Begins a response that stays open. Its headers are sent with the first text, or by `flush`. */
  open(headers: Headers): EventSink;
  /** Calls the listener once if the client goes away before the response is complete. */
  onGone(listener: () => void): void;
  /**
   * Undefined if the response has left this process, or nearly. Otherwise resolves when it has, or when the client is gone. A client
   * that reads nothing for `stalledMs` is cut.
   */
  untilSent(stalledMs: number): Promise<void> | undefined;
}

/** An open response. */
export interface EventSink {
  /** Sends the headers now. */
  flush(): void;
  /** False if the client reads more slowly than the gateway writes. */
  write(text: string): boolean;
  /** Calls the listener each time the client has read everything. */
  onDrain(listener: () => void): void;
  end(): void;
  /** Cuts the connection. */
  destroy(): void;
}
