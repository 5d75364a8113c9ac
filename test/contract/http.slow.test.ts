/** The contract over Streamable HTTP and over legacy HTTP+SSE. */
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { HttpConfig, SseConfig } from "../../packages/core/src/config/server-config.js";
import { createHttpTransport } from "../../packages/core/src/transports/http/http-transport.js";
import { createSseTransport } from "../../packages/core/src/transports/http/sse/sse-transport.js";
import type {
  ServerTransport,
  TransportContext,
} from "../../packages/core/src/transports/server-transport.js";
import { createHttpClient } from "../../packages/http/src/node-client.js";
import { usePeer } from "./contract-peer.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

type Create = (port: number, context: TransportContext) => Promise<ServerTransport>;

const common = {
  name: "contract",
  headers: new SecretRecord(),
  authProvider: undefined,
  reconnect: { enabled: true, maxAttempts: undefined, delayMs: undefined },
};

const peers = { http: usePeer("sdk-http"), sse: usePeer("sdk-sse") };

async function make(
  kind: keyof typeof peers,
  limits: { maxMessageBytes: number },
  create: Create,
): Promise<ContractSubject> {
  const peer = peers[kind];
  const http = createHttpClient();
  return {
    transport: await create(peer.port, { ...limits, http }),
    vanish: peer.kill,
    cleanup: async () => {
      await http.close();
      await peer.replace();
    },
  };
}

describeTransport(
  "http",
  (limits) =>
    make("http", limits, (port, context) => {
      const config = { ...common, kind: "http", url: `http://127.0.0.1:${port}/mcp`, sseFallback: false };
      return createHttpTransport(config as HttpConfig, context);
    }),
  { connectionless: true },
);

describeTransport("sse", (limits) =>
  make("sse", limits, (port, context) => {
    const config = { ...common, kind: "sse", url: `http://127.0.0.1:${port}/sse` };
    return createSseTransport(config as SseConfig, context);
  }),
);
