/** Two transports linked in memory, for servers in the same process. */
import type { JSONRPCMessage, MessageExtraInfo, RequestId, Transport } from "@modelcontextprotocol/client";
import { ConnectionError, utf8Length } from "@toolport/base";
import { DEFAULT_MAX_MESSAGE_BYTES, type ServerTransport } from "../server-transport.js";

interface LinkedTransportsOptions {
  /** Largest message the client side accepts; a larger one is discarded and reported. @default 10485760 */
  maxMessageBytes?: number;
}

/**
 * Creates a linked pair: the first is for a client (or the `transport` function of a server entry), the second for a
 * server.
 *
 * Messages are serialized to JSON: the two sides never share an object, and values that JSON cannot represent (`undefined`,
 * a `Date`, a symbol) are lost. Messages are delivered in order, each in its own microtask; those sent before the other
 * side has started wait for it. Closing one side closes the other, after all messages sent before.
 *
 * @example
 * ```ts
 * const [client, server] = createLinkedTransports();
 * await myServer.connect(server);
 * createToolport({ mcpServers: { mine: { transport: () => client } } });
 * ```
 */
export function createLinkedTransports(
  options: LinkedTransportsOptions = {},
): [client: ServerTransport, server: Transport] {
  const client = new LinkedTransport(options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES);
  const server = new LinkedTransport(Number.POSITIVE_INFINITY);
  client.other = server;
  server.other = client;
  return [client, server];
}

type Delivery = { readonly text: string } | "close";

class LinkedTransport implements ServerTransport {
  readonly kind = "custom";
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: (discarded: { id?: RequestId | undefined; error: ConnectionError }) => void;
  closeError: ConnectionError | undefined;
  other: LinkedTransport | undefined;

  readonly #maxMessageBytes: number;
  readonly #inbox: Delivery[] = [];
  #state: "idle" | "open" | "closed" = "idle";
  #scheduled = false;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  async start(): Promise<void> {
    if (this.#state !== "idle") throw closed("The connection cannot be started again");
    this.#state = "open";
    this.#schedule();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const other = this.other;
    if (this.#state !== "open" || other === undefined || other.#state === "closed") {
      throw closed("The connection is not open");
    }
    other.#accept({ text: JSON.stringify(message) });
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#shut();
    const other = this.other;
    if (other !== undefined) other.#accept("close");
  }

  #accept(delivery: Delivery): void {
    if (this.#state === "closed") return;
    this.#inbox.push(delivery);
    // Also deliver "close" to a side that was never started: it may never be.
    if (delivery === "close" || this.#state === "open") this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#inbox.length === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      const delivery = this.#state === "idle" ? "close" : this.#inbox.shift();
      if (delivery === undefined || this.#state === "closed") return;
      // Schedule before delivering: a listener that throws must not stop later messages.
      this.#schedule();
      this.#deliver(delivery);
    });
  }

  #deliver(delivery: Delivery): void {
    if (delivery === "close") {
      this.closeError = closed("The other side closed the connection", "unknown");
      this.#shut();
      return;
    }
    const { text } = delivery;
    const message = JSON.parse(text) as JSONRPCMessage;
    // A UTF-16 code unit takes 3 bytes at most, so most messages need not be measured.
    const over = text.length * 3 > this.#maxMessageBytes && utf8Length(text) > this.#maxMessageBytes;
    if (over) this.ondiscard?.({ id: "id" in message ? message.id : undefined, error: this.#tooLarge() });
    else this.onmessage?.(message);
  }

  #shut(): void {
    this.#state = "closed";
    this.#inbox.length = 0;
    this.onclose?.();
  }

  #tooLarge(): ConnectionError {
    return new ConnectionError({
      code: "MESSAGE_TOO_LARGE",
      what: `The server sent a message of more than ${this.#maxMessageBytes} bytes; it was discarded`,
      next: "Request less data from the tool at a time",
    });
  }
}

function closed(what: string, outcome: "unsent" | "unknown" = "unsent"): ConnectionError {
  return new ConnectionError({ code: "CLOSED", what, retryable: true, outcome });
}
