/** A channel over linked transports in memory, with what passed at either end. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { RequestChannel } from "../../src/protocol/request-channel.js";
import { createLinkedTransports } from "../../src/transports/memory/linked-transports.js";
import type { ServerTransport } from "../../src/transports/server-transport.js";

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
  /** What the server received. */
  readonly arrived: ChannelMessage[];
  /** What reached the SDK's client. */
  readonly passed: ChannelMessage[];
  /** Sent by the server. */
  reply(message: ChannelMessage): Promise<void>;
}

/** Started at both ends; somebody listens at the client's. */
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

/** Everything sent before has been delivered, both ways. */
export const delivered = () => new Promise<void>((resolve) => setImmediate(resolve));
