/** The contract over WebSocket: with `ws`, and with the standard interface other runtimes offer. */
import { WebSocket } from "ws";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { WebSocketConfig } from "../../packages/core/src/config/server-config.js";
import type { ServerTransport } from "../../packages/core/src/transports/server-transport.js";
import {
  createGlobalWebSocketTransport,
  type StandardWebSocketConstructor,
} from "../../packages/core/src/transports/websocket/global-web-socket.js";
import { createNodeWebSocketTransport } from "../../packages/core/src/transports/websocket/node-web-socket.js";
import { usePeer } from "./contract-peer.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

type Create = (config: WebSocketConfig) => Promise<ServerTransport>;

const peer = usePeer("sdk-websocket");

async function make(create: Create): Promise<ContractSubject> {
  const config = {
    kind: "websocket",
    name: "contract",
    url: `ws://127.0.0.1:${peer.port}/mcp/ws`,
    headers: new SecretRecord(),
  } as WebSocketConfig;
  return { transport: await create(config), vanish: peer.kill, cleanup: peer.replace };
}

describeTransport("websocket", (limits) => make((config) => createNodeWebSocketTransport(config, limits)));

const standard = { WebSocket: WebSocket as unknown as StandardWebSocketConstructor };
describeTransport(
  "global websocket",
  (limits) => make((config) => createGlobalWebSocketTransport(config, limits, standard)),
  // The runtime buffers every message before its size can be checked.
  { inProcess: true },
);
