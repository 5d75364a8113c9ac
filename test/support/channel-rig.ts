/** A lane over linked transports in memory, with what passed at either end. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { Lane } from "../../src/protocol/request-channel.js";
import { createLinkedTransports } from "../../src/transports/memory/linked-transports.js";
import type { ServerTransport } from "../../src/transports/server-transport.js";

export interface LaneMessage {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

export interface LaneRig {
  readonly inner: ServerTransport;
  readonly server: Transport;
  readonly lane: Lane;
  /** What the server received. */
  readonly arrived: LaneMessage[];
  /** What reached the SDK's client. */
  readonly passed: LaneMessage[];
  /** Sent by the server. */
  reply(message: LaneMessage): Promise<void>;
}

/** Started at both ends; somebody listens at the client's. */
export async function openLaneRig(): Promise<LaneRig> {
  const [inner, server] = createLinkedTransports();
  const lane = new Lane(inner, "it");
  const arrived: LaneMessage[] = [];
  const passed: LaneMessage[] = [];
  server.onmessage = (message) => arrived.push(message as LaneMessage);
  lane.clientSide.onmessage = (message) => passed.push(message as LaneMessage);
  await server.start();
  await lane.start();
  const reply = (message: LaneMessage) => server.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  return { inner, server, lane, arrived, passed, reply };
}

/** Everything sent before has been delivered, both ways. */
export const delivered = () => new Promise<void>((resolve) => setImmediate(resolve));
