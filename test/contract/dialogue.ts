/** Raw JSON-RPC over a bare transport, so that a contract test checks only the transport. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import type { ServerTransport } from "../../packages/core/src/transports/server-transport.js";

const PROTOCOL_VERSION = "2025-11-25";

type Answer = Record<string, unknown>;

interface Waiting {
  resolve(result: Answer): void;
  reject(error: unknown): void;
}

/** One client at a transport that has not been started yet. */
export class Dialogue {
  readonly transport: ServerTransport;
  readonly notifications: JSONRPCMessage[] = [];
  readonly errors: Error[] = [];
  closes = 0;
  /** Settles at the first `onclose`. */
  readonly closed: Promise<void>;
  /** Settles when an answer was over the size limit, however the transport reports it. */
  readonly tooLarge: Promise<string>;
  readonly #waiting = new Map<RequestId, Waiting>();
  #nextId = 1;

  constructor(transport: ServerTransport) {
    this.transport = transport;
    transport.onmessage = (message) => this.#receive(message);
    transport.onerror = (error) => this.errors.push(error);
    let onTooLarge: (code: string) => void = () => {};
    this.tooLarge = new Promise((resolve) => {
      onTooLarge = resolve;
    });
    transport.ondiscard = ({ error }) => onTooLarge(error.code);
    transport.onstreamcut = (_id, error) => onTooLarge(error.code);
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.closes++;
        if (transport.closeError) onTooLarge(transport.closeError.code);
        resolve();
      };
    });
  }

  /** Starts the transport and shakes hands. */
  async open(): Promise<this> {
    await this.transport.start();
    const clientInfo = { name: "contract", version: "1.0.0" };
    await this.request("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
    this.transport.setProtocolVersion?.(PROTOCOL_VERSION);
    await this.transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return this;
  }

  request(method: string, params: Record<string, unknown> = {}): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.transport.send({ jsonrpc: "2.0", id, method, params }).catch((error: unknown) => {
        this.#waiting.delete(id);
        reject(error);
      });
    });
  }

  #receive(message: JSONRPCMessage): void {
    if ("method" in message) {
      this.notifications.push(message);
      return;
    }
    const waiting = this.#waiting.get(message.id as RequestId);
    this.#waiting.delete(message.id as RequestId);
    if ("error" in message) waiting?.reject(message.error);
    else waiting?.resolve(message.result);
  }
}
