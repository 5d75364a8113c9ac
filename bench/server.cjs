/**
 * A server so cheap that the client dominates: no SDK, prepared responses.
 *
 * `node server.cjs` uses stdio. `node server.cjs --http [port]` uses Streamable HTTP, prints `{"ports":[…]}` on stdout
 * and exits when its stdin closes. Its environment: `TOOLS` (how many), `PAGE` (tools on a page, 0 for one page), `OUT_EVERY` (every n-th
 * tool has an output schema, 0 for none), `ERA` (`legacy` or `modern`), `HTTP_MODE` (`json` or `sse`), `SESSION` (1: give out and require
 * session ids), `PORTS` (how many to listen on), `PROGRESS` (1: report progress before a response over stdio).
 */
const { listPages } = require("./server-tools.cjs");

const { env } = process;
const isModern = env.ERA === "modern";
const isSse = env.HTTP_MODE === "sse";
const hasSessions = env.SESSION === "1";
const LEGACY_VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"];
const serverInfo = { name: "bench", version: "1.0.0" };
const cacheable = isModern ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
/** Beginning of a hand-written result. */
const complete = isModern ? '"resultType":"complete",' : "";

const pages = listPages({
  tools: Number(env.TOOLS || 10),
  pageSize: Number(env.PAGE || 0),
  outputEvery: Number(env.OUT_EVERY || 5),
  fields: cacheable,
});

const blobs = new Map();
/** A result of this many kilobytes, created once. */
function blob(kb, kind) {
  const key = `${kind} ${kb}`;
  const known = blobs.get(key);
  if (known !== undefined) return known;
  const line = "The quick brown fox jumps over the lazy dog 0123456789ABCDEFGHIJ";
  const data = (kind === "image" ? line.replaceAll(" ", "/") : line).repeat(kb * 16);
  const block =
    kind === "image"
      ? `{"type":"image","mimeType":"image/png","data":"${data}"}`
      : `{"type":"text","text":"${data}"}`;
  const made = `{${complete}"content":[${block}]}`;
  blobs.set(key, made);
  return made;
}

const text = (value) => `{${complete}"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;

function structured({ text: said, n }) {
  const data = JSON.stringify({ text: said, n, tags: ["a", "b"] });
  const content = `"content":[{"type":"text","text":${JSON.stringify(data)}}]`;
  return `{${complete}${content},"structuredContent":${data}}`;
}

const callable = {
  echo: (args) => text(args.text),
  echo_structured: structured,
  blob: (args) => blob(args.kb, args.kind),
  pid: () => text(String(process.pid)),
};

const methods = {
  "tools/call": ({ name, arguments: args = {} }) => callable[name]?.(args),
  "tools/list": ({ cursor }) => pages()[cursor ? Number(cursor) : 0],
  ping: () => "{}",
  initialize({ protocolVersion: asked }) {
    const protocolVersion = LEGACY_VERSIONS.includes(asked) ? asked : "2025-11-25";
    return JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo });
  },
  "server/discover"() {
    if (!isModern) return undefined;
    const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
    return JSON.stringify({
      ...cacheable,
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      _meta,
    });
  },
};

/** With `PROGRESS=1`: a report before the response, if the client wants one. */
const reportOf = ({ params }) =>
  env.PROGRESS === "1" && params?._meta?.progressToken !== undefined
    ? `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(params._meta.progressToken)},"progress":1}}\n`
    : "";

/** The response as JSON, or undefined for a notification. */
function answer({ id, method, params = {} }) {
  if (id === undefined) return undefined;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  const result = methods[method]?.(params);
  if (result !== undefined) return `${head}"result":${result}}`;
  return `${head}"error":{"code":${method === "tools/call" ? -32602 : -32601},"message":"Unknown"}}`;
}

function serveStdio() {
  let parts = [];
  process.stdin.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString();
      parts = [];
      start = end + 1;
      const message = line === "" ? undefined : JSON.parse(line);
      const out = message && answer(message);
      if (out !== undefined) process.stdout.write(`${reportOf(message)}${out}\n`);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
  process.stdin.on("end", () => process.exit(0));
}

const sessions = new Set();
/** The headers of the response, or undefined if the session is unknown. */
function sessionHeaders(message, asked) {
  if (!hasSessions) return {};
  if (message.method !== "initialize") return sessions.has(asked) ? {} : undefined;
  const id = require("node:crypto").randomUUID();
  sessions.add(id);
  return { "mcp-session-id": id };
}

function respond(request, response, message) {
  const headers = sessionHeaders(message, request.headers["mcp-session-id"]);
  if (headers === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
    return;
  }
  const out = answer(message);
  if (out === undefined) {
    response.writeHead(202).end();
    return;
  }
  const body = isSse ? `event: message\ndata: ${out}\n\n` : out;
  headers["content-type"] = isSse ? "text/event-stream" : "application/json";
  headers["content-length"] = Buffer.byteLength(body);
  response.writeHead(200, headers).end(body);
}

function onRequest(request, response) {
  if (request.method !== "POST") {
    request.resume();
    response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    return;
  }
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => respond(request, response, JSON.parse(Buffer.concat(chunks).toString())));
}

function serveHttp(port) {
  const http = require("node:http");
  const wanted = Number(env.PORTS || 1);
  const ports = [];
  for (let i = 0; i < wanted; i++) {
    const server = http.createServer({ keepAliveTimeout: 60_000 }, onRequest);
    server.listen(port, "127.0.0.1", () => {
      ports.push(server.address().port);
      if (ports.length === wanted) process.stdout.write(`${JSON.stringify({ ports })}\n`);
    });
  }
  process.stdin.resume().on("end", () => process.exit(0));
}

const at = process.argv.indexOf("--http");
if (at === -1) serveStdio();
else serveHttp(Number(process.argv[at + 1] ?? 0));
