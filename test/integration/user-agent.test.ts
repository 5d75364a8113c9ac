/** The `User-Agent` of every request, and its override by the user. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createToolport, type ServerEntry } from "toolport";
import { McpRegistryClient } from "toolport/registry";
import { expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { startHostileServer } from "../support/oauth-hostile-server.js";

const { version } = JSON.parse(
  readFileSync(new URL("../../packages/toolport/package.json", import.meta.url), "utf8"),
) as {
  version: string;
};
const OWN = `toolport/${version}`;

/** The `User-Agent` values that a server received while a port tried to connect to it. */
async function agentsOf(toEntry: (origin: string) => ServerEntry, options = {}): Promise<Set<unknown>> {
  const seen = new Set<unknown>();
  const server = createServer((request, response) => {
    seen.add(request.headers["user-agent"]);
    response.writeHead(404).end();
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("headers", (_headers, request) => seen.add(request.headers["user-agent"]));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  {
    await using toolport = createToolport({
      mcpServers: { it: toEntry(`127.0.0.1:${port}`) },
      connectTimeoutMs: 300,
      ...options,
    });
    await toolport.connect();
  }
  sockets.close();
  for (const socket of sockets.clients) socket.terminate();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return seen;
}

const KINDS: readonly [string, (host: string) => ServerEntry][] = [
  ["http, with its fallback", (host) => ({ url: `http://${host}/mcp` })],
  ["sse", (host) => ({ transport: "sse", url: `http://${host}/sse` })],
  ["websocket", (host) => ({ transport: "websocket", url: `ws://${host}/ws` })],
];

it.each(KINDS)("over %s", async (_kind, toEntry) => {
  expect(await agentsOf(toEntry)).toEqual(new Set([OWN]));
});

it.each(KINDS)("the user's value overrides it over %s", async (_kind, toEntry) => {
  const headers = { "User-Agent": "mine/1" };
  expect(await agentsOf((host) => ({ ...toEntry(host), headers }) as ServerEntry)).toEqual(
    new Set(["mine/1"]),
  );
});

it("with a custom fetch", async () => {
  expect(await agentsOf(KINDS[0]![1], { fetch: globalThis.fetch })).toEqual(new Set([OWN]));
});

it("in a login", async () => {
  await using server = await startHostileServer("127.0.0.1");
  await using toolport = createToolport({
    mcpServers: { a: { url: server.url } },
    callbackUrl: CALLBACK_URL,
  });
  await toolport.connect();
  const paths = server.seen.map(({ line }) => line);
  expect(paths).toContain("POST /register");
  expect(new Set(server.seen.map(({ headers }) => headers["user-agent"]))).toEqual(new Set([OWN]));
});

it("to a registry", async () => {
  const server = await startScriptedServer((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"servers":[]}'),
  );
  await new McpRegistryClient({ baseUrl: server.url }).listServers();
  expect(server.seen[0]?.headers["user-agent"]).toBe(OWN);
  await server.close();
});
