/** Refused redirects: the error of every transport names the target and says what to do. */
import { createToolport, type ServerEntry } from "toolport";
import { expect, it } from "vitest";
import { type ScriptedServer, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";

const entries: readonly [string, (url: string) => ServerEntry][] = [
  ["http", (url) => ({ url: `${url}/mcp` })],
  ["sse", (url) => ({ transport: "sse", url: `${url}/mcp` })],
  ["websocket", (url) => ({ transport: "websocket", url: `${url.replace("http", "ws")}/mcp` })],
];

async function startRedirecting(location: string, status: number): Promise<ScriptedServer & AsyncDisposable> {
  const server = await startScriptedServer((_request, response) =>
    response.writeHead(status, { location }).end("moved, see key=hush"),
  );
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}

it.each(entries)("over %s: to https on the same host, by 301", async (_kind, toEntry) => {
  await using server = await startRedirecting("https://127.0.0.1/mcp?key=hush", 301);
  await using toolport = createToolport({ mcpServers: { it: toEntry(server.url) } });
  const error = await failure(toolport.callTool("it__fine"));
  expect(error).toMatchObject({ code: "HTTP_STATUS", server: "it", status: 301, retryable: false });
  expect(error.what).toContain("redirects to https://127.0.0.1/mcp (HTTP 301)");
  expect(error.next).toContain("Set the server's url to https://127.0.0.1/mcp");
  expect(error.message).not.toContain("hush");
});

it.each(entries)("over %s: to another host, by 307", async (_kind, toEntry) => {
  await using elsewhere = await startRedirecting("/", 307);
  const target = elsewhere.url.replace("127.0.0.1", "127.0.0.2");
  await using server = await startRedirecting(`${target}/mcp`, 307);
  await using toolport = createToolport({ mcpServers: { it: toEntry(server.url) } });
  const error = await failure(toolport.callTool("it__fine"));
  expect(error.message).toContain(`If you trust it: Set the server's url to ${target}/mcp`);
  expect(elsewhere.seen).toEqual([]);
});
