/** Serves a test server over a transport with one connection: linked in-memory transports, a socket, or pipes. */
import type { McpRequestContext, Transport } from "@modelcontextprotocol/server";
import type { CustomServerEntry } from "../config/server-entry.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { buildServer, type SharedState, trackServer } from "./build-server.js";
import type { TestServerEra } from "./test-server-definition.js";

/** Something that can be closed. Closing twice is allowed. */
export interface Opened {
  close(): Promise<void>;
}

/** Serves one connection. `opened` contains it until it closes. */
export async function serveConnection(
  state: SharedState,
  transport: Transport,
  { era, opened }: { era: TestServerEra; opened: Set<Opened> },
): Promise<void> {
  const sdk = await state.loadSdk();
  const build = (request: Pick<McpRequestContext, "era">) =>
    trackServer(buildServer(sdk, state), state, request.era);
  let connection: Opened;
  if (era === "legacy") {
    const server = build({ era });
    await server.connect(transport);
    connection = server;
  } else {
    connection = sdk.serveStdio(build, { transport, legacy: era === "modern" ? "reject" : "serve" });
  }
  opened.add(connection);
  const { onclose } = transport;
  transport.onclose = () => {
    opened.delete(connection);
    onclose?.();
  };
}

/** An entry that creates a new pair of linked transports and a new server for every connection. */
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
