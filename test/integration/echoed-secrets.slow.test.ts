/** Servers that echo secrets: none appears in an error, a log line or a span. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import {
  createToolport,
  type Logger,
  type ServerEntry,
  type Toolport,
  type ToolportError,
  type ToolportOptions,
} from "toolport";
import { afterAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { type SeenRequest, sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { registerOpenTelemetry } from "../support/open-telemetry.js";

const ECHO = fileURLToPath(new URL("../fixtures/servers/stdio-echo-secrets.mjs", import.meta.url));

const telemetry = registerOpenTelemetry();
afterAll(() => telemetry.dispose());

/** With characters that are encoded differently in URLs, in JSON and in HTML. */
const SECRET = {
  query: 'Qk/9 s3cr&t+"pärt"',
  bare: "bare-0c9d2e17aa",
  path: "p4th0c9d2e17aa51b7c6f4d2",
  header: 'hk-88d1"e0aa<x>',
  bearer: "bt-51b7c6f4.99",
  password: "pw-3aa8:17&b",
  cookie: "ck-9911aa77",
  env: 'ek-7f3a91c2 "x"&\\y',
  argument: "ak-1b2c3d4e5f",
  token: "tk-from-a-function-1",
};

const html = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const spellings = (secret: string): string[] => [
  ...new Set([
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ a: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    html(secret),
  ]),
];

function expectClean(text: string, where: string): void {
  for (const [what, secret] of Object.entries(SECRET))
    for (const spelling of spellings(secret)) {
      const at = text.indexOf(spelling);
      if (at >= 0)
        throw new Error(`The ${what} leaked into ${where}: …${text.slice(Math.max(0, at - 160), at + 60)}…`);
    }
}

/** Every printable form of a value. */
const everything = (value: unknown): string =>
  [
    inspect(value, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(value) ?? "",
    value instanceof Error ? `${value.message} ${value.stack} ${inspect(value.cause, { depth: 20 })}` : "",
  ].join("\n");

interface Watched {
  readonly toolport: Toolport;
  /** Checks all reports so far, and these errors. */
  expectClean(errors: readonly ToolportError[]): void;
}

/** A port with a listener for every kind of report. */
function watched(entry: ServerEntry, options: Partial<ToolportOptions> = {}): Watched & AsyncDisposable {
  const heard: string[] = [];
  const note = (message: string, details?: unknown) => void heard.push(message, everything(details));
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const loud = {
    logEvents: true,
    logRequests: true,
    logResponses: true,
    ...("url" in entry && { reconnect: { enabled: false } }),
  };
  const toolport = createToolport({
    mcpServers: { s: { ...entry, ...loud } as ServerEntry },
    logger,
    retry: false,
    ...options,
  });
  for (const event of ["state", "warning", "call", "toolChanged"] as const)
    toolport.on(event, (news: unknown) => void heard.push(everything(news)));
  return {
    toolport,
    expectClean(errors) {
      for (const error of errors) expectClean(everything(error), `the error ${error.code}`);
      expectClean(heard.join("\n"), "an event or the log");
      // The URL is shown there without its query.
      expectClean(everything(toolport.snapshot()).replaceAll(SECRET.path, ""), "the snapshot");
      const spans = telemetry
        .spans()
        .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
      expectClean(everything(spans), "a span");
    },
    [Symbol.asyncDispose]: () => toolport.close(),
  };
}

/** The request as a server echoes it, in every encoding that servers use. */
function repeat({ path, headers }: Pick<SeenRequest, "path" | "headers">): string {
  const url = new URL(path, "http://x");
  const values = [...url.searchParams].flat();
  const basic = String(headers.authorization ?? "").replace(/^Basic /, "");
  return [
    path,
    ...values,
    ...values.map(encodeURIComponent),
    JSON.stringify({ url: path, values, headers }),
    html(JSON.stringify({ path, values, headers })),
    Buffer.from(basic, "base64").toString(),
    ...Object.values(headers),
  ].join(" | ");
}

const rpcAnswer = (id: unknown, method: string | undefined, said: string): Record<string, unknown> => {
  const tool = { name: "t", inputSchema: { type: "object" } };
  switch (method) {
    case "initialize":
      return {
        id,
        result: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "x", version: "1" },
        },
      };
    case "tools/list":
      return { id, result: { tools: [tool] } };
    default:
      return {
        id,
        error: { code: -32_000, message: `No: ${said}`, data: { said, deep: [{ [said]: said }] } },
      };
  }
};

const query = `?key=${encodeURIComponent(SECRET.query)}&form=${new URLSearchParams({ a: SECRET.query }).toString().slice(2)}&${SECRET.bare}`;
const path = `/t/${SECRET.path}/mcp${query}`;
const headers = {
  "X-Key": SECRET.header,
  Authorization: `Basic ${Buffer.from(`ada:${SECRET.password}`).toString("base64")}`,
  Cookie: `theme=dark; session=${SECRET.cookie}`,
};

/** The forms of a refusal. */
const REFUSALS: Record<
  string,
  (said: string, id: unknown) => { status: number; type: string; body: string }
> = {
  "500 with text": (said) => ({ status: 500, type: "text/plain", body: said }),
  "503 with text": (said) => ({ status: 503, type: "text/plain", body: said }),
  "200 with HTML": (said) => ({ status: 200, type: "text/html", body: `<html>${said}</html>` }),
  "200 with broken JSON": (said) => ({ status: 200, type: "application/json", body: `{"said": "${said}` }),
  "400 with text": (said) => ({ status: 400, type: "text/plain", body: said }),
  "404 with HTML": (said) => ({ status: 404, type: "text/html", body: `<html>${said}</html>` }),
  "403 with text": (said) => ({ status: 403, type: "text/plain", body: said }),
  "a JSON-RPC error": (said, id) => ({
    status: 200,
    type: "application/json",
    body: JSON.stringify({ jsonrpc: "2.0", ...rpcAnswer(id, undefined, said) }),
  }),
  "an event with a JSON-RPC error": (said, id) => ({
    status: 200,
    type: "text/event-stream",
    body: `data: ${JSON.stringify({ jsonrpc: "2.0", ...rpcAnswer(id, undefined, said) })}\n\n`,
  }),
  "a repeated key that fills the excerpt": (said) => ({
    status: 500,
    type: "text/plain",
    body: said.repeat(20),
  }),
};

describe.each(Object.entries(REFUSALS))("Streamable HTTP, %s", (_name, refusal) => {
  const start = (failsAt: "connect" | "call") =>
    startScriptedServer((request, response) => {
      const { id, method } = request.message ?? {};
      if (request.method !== "POST") return response.writeHead(405).end();
      if (id === undefined) return response.writeHead(202).end();
      if (failsAt === "call" && method !== "tools/call")
        return method === "server/discover"
          ? sendJson(response, { jsonrpc: "2.0", id, error: { code: -32_601, message: "No" } })
          : sendJson(response, { jsonrpc: "2.0", ...rpcAnswer(id, method, "") });
      const { status, type, body } = refusal(repeat(request), id);
      response.writeHead(status, { "content-type": type }).end(body);
    });

  test("to the handshake", async () => {
    const server = await start("connect");
    await using port = watched({ url: `${server.url}${path}`, headers, transport: "http" });
    const { servers } = await port.toolport.connect();
    expect(servers["s"]?.error).toBeDefined();
    port.expectClean([servers["s"]!.error!]);
    await server.close();
  });

  test("to a call", async () => {
    const server = await start("call");
    await using port = watched({ url: `${server.url}${path}`, headers, transport: "http" });
    const error = await failure(port.toolport.callTool("s__t", {}));
    expect(error.server).toBe("s");
    port.expectClean([error]);
    await server.close();
  });

  test("to a call with headers of a function, of one user, and of the call", async () => {
    const server = await start("call");
    const made = async () => ({ "X-Key": SECRET.header, Authorization: `Bearer ${SECRET.bearer}` });
    await using port = watched({ url: `${server.url}${path}`, headers: made, transport: "http" });
    const ada = port.toolport.as("ada", { headers: { Authorization: `Bearer ${SECRET.token}` } });
    const errors = [
      await failure(port.toolport.callTool("s__t", {})),
      await failure(ada.callTool("s__t", {})),
      await failure(port.toolport.callTool("s__t", {}, { headers: { "X-Own": SECRET.cookie } })),
    ];
    port.expectClean(errors);
    await server.close();
  });

  test("to a call with a token of an authProvider", async () => {
    const server = await start("call");
    const authProvider = { token: async () => SECRET.token };
    await using port = watched({ url: `${server.url}${path}`, authProvider, transport: "http" });
    port.expectClean([await failure(port.toolport.callTool("s__t", {}))]);
    await server.close();
  });
});

test("HTTP+SSE: a refused stream, a refused message and a JSON-RPC error", async () => {
  for (const failsAt of ["stream", "message", "rpc"]) {
    const open = new Set<{ write(text: string): void; end(): void }>();
    const server = await startScriptedServer((request, response) => {
      const said = repeat(request);
      if (request.method === "GET") {
        if (failsAt === "stream") return response.writeHead(500).end(said);
        response.writeHead(200, { "content-type": "text/event-stream" });
        open.add(response);
        return response.write(`event: endpoint\ndata: /post?session=${encodeURIComponent(SECRET.query)}\n\n`);
      }
      const { id, method } = request.message ?? {};
      if (failsAt === "message" && method === "tools/call") return response.writeHead(500).end(said);
      response.writeHead(202).end();
      if (id === undefined) return;
      for (const stream of open)
        stream.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...rpcAnswer(id, method, said) })}\n\n`);
    });
    await using port = watched({ url: `${server.url}${path}`, headers, transport: "sse" });
    port.expectClean([await failure(port.toolport.callTool("s__t", {}))]);
    for (const stream of open) stream.end();
    await server.close();
  }
});

test("WebSocket: a refused upgrade, a close frame and a JSON-RPC error", async () => {
  for (const failsAt of ["upgrade", "close", "rpc"]) {
    const http = createServer();
    const sockets = new WebSocketServer({ noServer: true });
    http.on("upgrade", (request, socket, head) => {
      const said = repeat({ path: request.url ?? "", headers: request.headers });
      if (failsAt === "upgrade")
        return socket.end(
          `HTTP/1.1 500 ${encodeURIComponent(SECRET.query)}\r\nContent-Length: ${Buffer.byteLength(said)}\r\n\r\n${said}`,
        );
      sockets.handleUpgrade(request, socket, head, (line) => {
        line.on("message", (data) => {
          const { id, method } = JSON.parse(String(data)) as { id?: unknown; method?: string };
          if (method === "tools/call" && failsAt === "close") return line.close(4_001, SECRET.query);
          if (id !== undefined) line.send(JSON.stringify({ jsonrpc: "2.0", ...rpcAnswer(id, method, said) }));
        });
      });
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const { port: number } = http.address() as AddressInfo;
    const made = async () => ({ ...headers, Authorization: `Bearer ${SECRET.bearer}` });
    for (const given of [headers, made]) {
      await using port = watched({
        url: `ws://127.0.0.1:${number}${path}`,
        headers: given,
        transport: "websocket",
      });
      port.expectClean([await failure(port.toolport.callTool("s__t", {}))]);
    }
    sockets.close();
    http.close();
    await once(http, "close");
  }
});

test("stdio: refusals, stray output, a crash, log messages and a result that does not match its schema", async () => {
  const entry: ServerEntry = {
    command: process.execPath,
    args: [ECHO, "--api-key", SECRET.argument, `--token=${SECRET.bearer}`],
    env: { MY_KEY: SECRET.env, MY_MODE: "server" },
  };
  await using port = watched(entry);
  expect((await port.toolport.callTool("s__chat")).text).toBe("chatted");
  const refused = await failure(port.toolport.callTool("s__refuse"));
  // A secret that is an ordinary word is redacted in texts of the server, not in messages of Toolport.
  expect(refused.message).toMatch(
    /^\[s\/refuse\] The server answered tools\/call with error -32000: Refused: /,
  );
  expect(inspect(refused, { depth: 20 })).toContain("[redacted: MY_KEY]");
  const errors = [
    refused,
    await failure(port.toolport.callTool("s__badly")),
    await failure(port.toolport.callTool("s__crash")),
  ];
  port.expectClean(errors);

  await using broken = watched({ ...entry, args: [...entry.args!, "--exit"] });
  const { servers } = await broken.toolport.connect();
  expect(servers["s"]?.error).toMatchObject({ stderrTail: expect.stringContaining("[redacted: MY_KEY]") });
  broken.expectClean([servers["s"]!.error!]);
});
