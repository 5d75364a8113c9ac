/** A transport for a client in the same process. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { readMessage } from "./message.js";
import { MessageLane } from "./message-lane.js";
import type { GatewayParts } from "./request-context.js";

export class MemoryConnection {
  readonly transport: Transport;
  readonly #start: () => Promise<GatewayParts>;
  readonly #lanes: Set<{ close(drainMs: number): Promise<void> }>;
  #lane: MessageLane | undefined;

  constructor(start: () => Promise<GatewayParts>, lanes: Set<{ close(drainMs: number): Promise<void> }>) {
    this.#start = start;
    this.#lanes = lanes;
    const transport: Transport = {
      start: () => this.#open(),
      send: async (message) => {
        if (this.#lane === undefined) throw new Error("The connection is not open");
        void this.#lane.receive(readMessage(structuredClone(message)));
      },
      close: async () => this.#close(),
    };
    this.transport = transport;
  }

  async #open(): Promise<void> {
    const parts = await this.#start();
    this.#lane = new MessageLane(parts, undefined, (text) => {
      const message = JSON.parse(text) as JSONRPCMessage;
      queueMicrotask(() => this.transport.onmessage?.(message));
    });
    this.#lanes.add(this);
  }

  async close(drainMs: number): Promise<void> {
    await this.#lane?.drain(drainMs);
    this.#close();
  }

  #close(): void {
    if (this.#lane === undefined) return;
    this.#lane.close();
    this.#lane = undefined;
    this.#lanes.delete(this);
    this.transport.onclose?.();
  }
}
