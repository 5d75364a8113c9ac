/** Serves a test server over any transport that carries one connection: a memory pair, a socket, a process's pipes. */
import type { McpRequestContext, Transport } from "@modelcontextprotocol/server";
import type { CustomServerEntry } from "../config/server-entry.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { buildServer, type SharedState, trackServer } from "./build-server.js";
import { loadServerSdk } from "./load-server-sdk.js";
import type { TestServerEra } from "./test-server-definition.js";

/** Something that was opened and can be closed; closing twice is fine. */
export interface Opened {
  close(): Promise<void>;
}

/** Serves one connection in the era (or eras) asked for. `opened` holds it for as long as it lasts. */
export async function serveConnection(
  state: SharedState,
  transport: Transport,
  { era, opened }: { era: TestServerEra; opened: Set<Opened> },
): Promise<void> {
  const sdk = await loadServerSdk();
  const make = (request: Pick<McpRequestContext, "era">) =>
    trackServer(buildServer(sdk, state), state, request.era);
  let connection: Opened;
  if (era === "legacy") {
    const server = make({ era });
    await server.connect(transport);
    connection = server;
  } else {
    connection = sdk.serveStdio(make, { transport, legacy: era === "modern" ? "reject" : "serve" });
  }
  opened.add(connection);
  const { onclose } = transport;
  transport.onclose = () => {
    opened.delete(connection);
    onclose?.();
  };
}

/** An entry whose every connection is a new pair of linked transports with a new server at its other end. */
export function memoryEntry(
  state: SharedState,
  options: { era: TestServerEra; opened: Set<Opened> },
): CustomServerEntry {
  return {
    transport: async () => {
      const [client, server] = createLinkedTransports();
      await serveConnection(state, server, options);
      return client;
    },
  };
}
