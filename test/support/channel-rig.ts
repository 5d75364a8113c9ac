/** A channel over linked transports in memory that records the messages at both ends. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { RequestChannel } from "../../packages/core/src/protocol/request-channel.js";
import { createLinkedTransports } from "../../packages/core/src/transports/memory/linked-transports.js";
import type { ServerTransport } from "../../packages/core/src/transports/server-transport.js";

export interface ChannelMessage {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

export interface ChannelRig {
  readonly inner: ServerTransport;
  readonly server: Transport;
  readonly channel: RequestChannel;
  /** Messages that the server received. */
  readonly arrived: ChannelMessage[];
  /** Messages that reached the SDK's client. */
  readonly passed: ChannelMessage[];
  /** Sends a message from the server. */
  reply(message: ChannelMessage): Promise<void>;
}

/** Both ends are started, and the client end has a message listener. */
export async function openChannelRig(): Promise<ChannelRig> {
  const [inner, server] = createLinkedTransports();
  const channel = new RequestChannel(inner, "it");
  const arrived: ChannelMessage[] = [];
  const passed: ChannelMessage[] = [];
  server.onmessage = (message) => arrived.push(message as ChannelMessage);
  channel.sdkTransport.onmessage = (message) => passed.push(message as ChannelMessage);
  await server.start();
  await channel.start();
  const reply = (message: ChannelMessage) => server.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  return { inner, server, channel, arrived, passed, reply };
}

/** Resolves when all earlier messages are delivered in both directions. */
export const delivered = () => new Promise<void>((resolve) => setImmediate(resolve));
