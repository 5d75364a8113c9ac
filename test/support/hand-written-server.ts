/** A server in memory that a test writes by hand, for messages that the server of the SDK would not send. */
import { createLinkedTransports } from "toolport";

export interface RpcMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
}

/** Sends a message to the client, or an answer to it. */
export type Say = (message: object) => Promise<void>;

/** The transport for an entry: `receive` gets every message of each of its connections. */
export function handWrittenServer(receive: (message: RpcMessage, say: Say) => unknown) {
  return async () => {
    const [client, server] = createLinkedTransports();
    const say: Say = (message) => server.send({ jsonrpc: "2.0", ...message } as never);
    server.onmessage = (message) => void receive(message as RpcMessage, say);
    await server.start();
    return client;
  };
}

/** The result of `initialize` of a legacy server. */
export const legacyWelcome = (name: string, capabilities: object) => ({
  protocolVersion: "2025-11-25",
  capabilities,
  serverInfo: { name, version: "1" },
});
