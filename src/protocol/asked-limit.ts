/** How much a server may ask of us at once: a flood is turned away before it costs more than reading it. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";

/** Requests that the SDK's client has and has not answered yet; more than any server has use for. */
const MAX_ASKED = 64;
/** Answers of our own that a server has not taken yet. One that asks and never reads gets no more of them. */
const MAX_UNTAKEN = 10_000;

const TOO_MANY = { code: -32603, message: "Too many requests at once" };

/** The books of one connection. */
export class AskedLimit {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #asked = new Set<RequestId>();
  #untaken = 0;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  /** True if the request may be looked at; it then counts until it is done. One too many is answered with an error. */
  admit(id: RequestId): boolean {
    if (this.#asked.size >= MAX_ASKED) {
      this.#reply({ jsonrpc: "2.0", id, error: TOO_MANY });
      return false;
    }
    this.#asked.add(id);
    return true;
  }

  /** It is answered, or the server no longer wants to know. */
  done(id: RequestId): void {
    this.#asked.delete(id);
  }

  /** Answers a ping, which is not worth a client. */
  pong(id: RequestId): void {
    this.#reply({ jsonrpc: "2.0", id, result: {} });
  }

  #reply(message: JSONRPCMessage): void {
    if (this.#untaken >= MAX_UNTAKEN) return;
    this.#untaken += 1;
    const sent = () => {
      this.#untaken -= 1;
    };
    // A broken connection is noticed elsewhere.
    this.#send(message).then(sent, sent);
  }
}
