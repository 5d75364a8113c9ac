/** Streamable HTTP up to 2025-11-25 with sessions, as a stateful server keeps them: one SDK server a session. */
import { randomUUID } from "node:crypto";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { buildServer, type SharedState, trackServer } from "./build-server.js";
import type { ServerSdk } from "./load-server-sdk.js";

export interface LegacySessions {
  /** Ids of the sessions the server knows at this moment. */
  readonly ids: string[];
  handle(request: Request): Promise<Response>;
  /** Forgets every session, as a restart would: requests with their ids are answered with 404. */
  forget(): Promise<void>;
}

export function createLegacySessions(
  sdk: ServerSdk,
  state: SharedState,
  { maxRequestBodySize }: { maxRequestBodySize: number },
): LegacySessions {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  async function open(request: Request): Promise<Response> {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = trackServer(buildServer(sdk, state), state, "legacy");
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    // Anything but a handshake was refused by the transport; nobody will come back for it.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  return {
    get ids() {
      return [...sessions.keys()];
    },
    async handle(request) {
      const id = request.headers.get("mcp-session-id");
      if (id === null) return open(request);
      const transport = sessions.get(id);
      if (transport !== undefined) return transport.handleRequest(request);
      const error = { code: -32_001, message: "Session not found" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
    },
    async forget() {
      const known = [...sessions.values()];
      sessions.clear();
      await Promise.all(known.map((transport) => transport.close()));
    },
  };
}
