/**
 * A server with faults on demand, written without the SDK: `echo` and `slow` work, every other tool is a fault.
 *
 * `node soak-server.cjs` uses stdio. `node soak-server.cjs --http <port> …` uses Streamable HTTP with sessions on these
 * ports (0: any), prints `{"ports":[…]}` on stdout and exits when its stdin closes.
 */
const { randomUUID } = require("node:crypto");
const { closeSync } = require("node:fs");

const NAMES = ["echo", "slow", "die", "leave", "cut", "forget", "garbage", "oversize"];
const tools = NAMES.map((name) => ({ name, inputSchema: { type: "object" } }));
const HANDSHAKE = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "soak", version: "1.0.0" },
};
const GARBAGE =
  'Listening on port 3000\n\n{"half": \n\u0000\n42\n[1,2]\n{"jsonrpc":"2.0","id":"nobody","result":{}}\n';

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

const methods = {
  initialize: () => HANDSHAKE,
  "tools/list": () => ({ tools }),
  ping: () => ({}),
};

/** Default behaviour of the tools; a transport may override it. */
const plain = {
  echo: (args) => text(args.text),
  slow: (args) => new Promise((resolve) => setTimeout(resolve, args.ms, text("slow"))),
  oversize: (args) => text("x".repeat(args.bytes)),
  die: () => process.kill(process.pid, "SIGKILL"),
  leave: () => process.exit(0),
};

async function answer({ id, method, params = {} }, own) {
  if (id === undefined) return undefined;
  const { name, arguments: args = {} } = params;
  const run = method === "tools/call" ? (own[name] ?? plain[name]) : methods[method];
  if (run === undefined) return { jsonrpc: "2.0", id, error: { code: -32601, message: "Unknown" } };
  const result = await run(args);
  return result === undefined ? undefined : { jsonrpc: "2.0", id, result };
}

function serveStdio() {
  const own = {
    // Closes its output and keeps running, like a server with a broken pipe.
    cut: () => closeSync(1),
    garbage(args) {
      process.stdout.write(GARBAGE);
      return text(args.text);
    },
  };
  let rest = "";
  process.stdout.on("error", () => {});
  process.stdin.setEncoding("utf8").on("data", async (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const said = answer(JSON.parse(line), own);
      said.then((message) => message && process.stdout.write(`${JSON.stringify(message)}\n`));
    }
  });
  process.stdin.on("end", () => process.exit(0));
}

function createEndpoint() {
  const sessions = new Set();
  const respond = async (request, response, message) => {
    const headers = { "content-type": "application/json" };
    if (message.method === "initialize") {
      const session = randomUUID();
      sessions.add(session);
      headers["mcp-session-id"] = session;
    } else if (!sessions.has(request.headers["mcp-session-id"])) {
      return response.writeHead(404).end();
    }
    const own = {
      cut: () => void response.destroy(),
      garbage: () => void response.writeHead(200, headers).end('{"jsonrpc":"2.0","id":'),
      forget() {
        sessions.clear();
        return text("forgotten");
      },
    };
    const said = await answer(message, own);
    if (said !== undefined) response.writeHead(200, headers).end(JSON.stringify(said));
    else if (message.id === undefined) response.writeHead(202).end();
  };
  return (request, response) => {
    if (request.method === "DELETE") sessions.delete(request.headers["mcp-session-id"]);
    if (request.method !== "POST") {
      request.resume();
      return response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    }
    let body = "";
    request.setEncoding("utf8").on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => respond(request, response, JSON.parse(body)));
  };
}

async function serveHttp(wanted) {
  const http = require("node:http");
  const ports = await Promise.all(
    wanted.map(
      (port) =>
        new Promise((resolve) => {
          const server = http.createServer({ keepAliveTimeout: 60_000 }, createEndpoint());
          server.listen(port, "127.0.0.1", () => resolve(server.address().port));
        }),
    ),
  );
  process.stdout.write(`${JSON.stringify({ ports })}\n`);
  process.stdin.resume().on("end", () => process.exit(0));
}

const at = process.argv.indexOf("--http");
if (at === -1) serveStdio();
else serveHttp(process.argv.slice(at + 1).map(Number));
