/** A transport for a client in the same process. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { readMessage } from "./message.js";
import { MessageConnection } from "./message-connection.js";
import type { GatewayParts } from "./request-context.js";

export class MemoryConnection {
  readonly transport: Transport;
  readonly #start: () => Promise<GatewayParts>;
  readonly #connections: Set<{ close(drainMs: number): Promise<void> }>;
  #connection: MessageConnection | undefined;

  constructor(
    start: () => Promise<GatewayParts>,
    connections: Set<{ close(drainMs: number): Promise<void> }>,
  ) {
    this.#start = start;
    this.#connections = connections;
    const transport: Transport = {
      start: () => this.#open(),
      send: async (message) => {
        if (this.#connection === undefined) throw new Error("The connection is not open");
        void this.#connection.receive(readMessage(structuredClone(message)));
      },
      close: async () => this.#close(),
    };
    this.transport = transport;
  }

  async #open(): Promise<void> {
    const parts = await this.#start();
    this.#connection = new MessageConnection(parts, undefined, (text) => {
      const message = JSON.parse(text) as JSONRPCMessage;
      queueMicrotask(() => this.transport.onmessage?.(message));
    });
    this.#connections.add(this);
  }

  async close(drainMs: number): Promise<void> {
    await this.#connection?.drain(drainMs);
    this.#close();
  }

  #close(): void {
    if (this.#connection === undefined) return;
    this.#connection.close();
    this.#connection = undefined;
    this.#connections.delete(this);
    this.transport.onclose?.();
  }
}
