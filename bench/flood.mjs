/**
 * Floods a gateway as one user, and measures what another user notices: `npm run bench:flood`. Linux only: figures come from /proc.
 *
 * The gateway, the server behind it and the flood are processes of their own. The flood sends one kind of load after the other, then all
 * together; the other user sends `tools/list` all the time. It may be answered with errors (408, 413, 429, 503). The script checks that
 * every response with the id of its request, and every call that reached the server, has a line in the audit log.
 * Exits with 1 if a target is missed. `--phase <ms>` sets how long each load lasts.
 */
import { fork } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { markdownTable } from "./markdown-table.mjs";
import { median, sleep } from "./process-figures.mjs";

const TARGETS = { times: 10, rssMb: 600 };
const QUIET_MS = 3_000;
/** Between two loads: requests that are still open end, so that one load does not count for the next. */
const PAUSE_MS = 1_000;
/** The other user sends a request this often, and has at most so many open. */
const EVERY_MS = 25;
const MAX_OPEN = 50;
const VERSION = "2026-07-28";
const MIB = 2 ** 20;

const { values: flags, positionals } = parseArgs({
  options: { phase: { type: "string", default: "4500" } },
  allowPositionals: true,
});
const PHASE_MS = Math.min(Number(flags.phase), 6_000);

const [role, parameter] = positionals;
/** A server whose tools echo, and ask. Reports on request how many calls it got. */
async function upstream() {
  const { createTestServer } = await import("../packages/toolport/dist/testing/index.js");
  let calls = 0;
  const requestedSchema = { type: "object", properties: { yes: { type: "boolean" } } };
  const server = createTestServer({
    era: "legacy",
    tools: {
      echo: {
        handler: () => {
          calls += 1;
          return "done";
        },
      },
      ask: {
        handler: async (_args, { request }) => {
          calls += 1;
          await request.mcpReq.elicitInput({ mode: "form", message: "Sure?", requestedSchema });
          return "done";
        },
      },
    },
  });
  const { url } = await server.http();
  process.on("message", () => process.send({ calls }));
  process.on("disconnect", () => process.exit(0));
  process.send({ url });
}

async function gateway(text) {
  const { url, file } = JSON.parse(text);
  const { createToolport } = await import("../packages/toolport/dist/index.js");
  const { createGateway } = await import("../packages/toolport/dist/gateway/index.js");
  const toolport = createToolport({ mcpServers: { up: { url } } });
  const served = createGateway(toolport, {
    auth: {
      verify: (request) => {
        const name = /^Bearer token-(\w+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
        return name === undefined ? undefined : { principal: name };
      },
    },
    code: true,
    audit: { file, includeArguments: true },
  });
  const server = createServer(served.node).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send({ port: server.address().port });
  process.on("message", async () => {
    await served.close({ drainMs: 2_000 });
    await toolport.close();
    process.send("closed");
  });
  process.on("disconnect", () => process.exit(0));
}

function messageOf(method, params, capabilities = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "flood", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } };
}

const headersOf = (user, { method = "tools/call", params = {} } = {}) => ({
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  authorization: `Bearer token-${user}`,
  "mcp-protocol-version": VERSION,
  "mcp-method": method,
  ...(params.name && { "mcp-name": params.name }),
});

/** Sends one request. Resolves with what arrived, also if the connection ended before. */
function send(port, user, { message, body = JSON.stringify(message), agent, signal, onData }) {
  return new Promise((resolve) => {
    const headers = headersOf(user, message);
    const asked = httpRequest({
      host: "127.0.0.1",
      port,
      path: "/mcp",
      method: "POST",
      headers,
      agent,
      signal,
    });
    asked.on("error", () => resolve({ status: 0, text: "" }));
    asked.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        // The response begins with the id, or ends with it: large results are not kept.
        if (text.length < 100_000) text += chunk;
        onData?.(text);
      });
      response.on("close", () => resolve({ status: response.statusCode, text }));
      response.on("error", () => {});
    });
    asked.end(body);
  });
}

/** Responses with the id of their request have a line. */
const hasLine = ({ text }) => /"id":1[,}]/.test(text) && /"(result|error)":/.test(text);

/** The process of the flooding user: `{ kinds, ms }` starts loads, and is answered with what was answered. */
async function flood(portText) {
  const port = Number(portText);
  const user = "eve";
  const counts = {};
  const count = (name) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const program = (code, more = {}, capabilities = {}) =>
    messageOf("tools/call", { name: "execute", arguments: { code, ...more } }, capabilities);
  const sent = async (options) => {
    const answer = await send(port, user, options);
    count(`status ${answer.status}`);
    if (hasLine(answer)) count("answered");
  };
  /** So many requests at a time until the end. */
  const keep = async (workers, signal, run) => {
    const work = async (worker) => {
      for (let round = 0; round < 5_000 && !signal.aborted; round += 1) await run(round + worker);
    };
    await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  };
  const brackets = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"code":"","x":[${"[],".repeat(1.3 * MIB)}1]}}}`;
  const nested = `${"[".repeat(2 * MIB)}${"]".repeat(2 * MIB)}`;
  const codes = [
    "for (;;);",
    "const kept = []; for (;;) kept.push(new Array(10000).fill(1));",
    `${"async<T>(".repeat(30)}`,
    `return ${"[".repeat(200_000)}`,
    "for (let n = 0; n < 20000; n++) { try { await tools.up.missing({}); } catch {} }",
    'for (let n = 0; n < 90; n++) await tools.up.echo({ text: "x".repeat(10_000) }); return 1;',
  ];
  const large = [
    program("return 1;", { extra: "x".repeat(3 * MIB) }),
    program("return 1;", { extra: Array.from({ length: 500_000 }, (_, index) => index % 10) }),
    program(
      'return Promise.all(Array.from({ length: 16 }, () => tools.up.echo({ text: "x".repeat(200_000) })));',
    ),
  ];
  const ask = program("return tools.up.ask({});", {}, { elicitation: { form: {} } });
  const listen = messageOf("subscriptions/listen", { notifications: { toolsListChanged: true } });
  const pause = (signal) => (signal.aborted ? undefined : sleep(10));
  const kinds = {
    bodies: (signal) =>
      Promise.all([
        keep(4, signal, (n) => sent({ body: n % 2 ? nested : brackets, signal })),
        keep(4, signal, () => sent({ body: `{"jsonrpc":${" ".repeat(MIB)}`, signal })),
        keep(150, signal, () => unfinished(port, user, signal)),
      ]),
    streams: (signal) =>
      keep(300, signal, async () => {
        await sent({ message: listen, signal });
        await pause(signal);
      }),
    programs: (signal) =>
      keep(64, signal, (n) => sent({ message: program(codes[n % codes.length]), signal })),
    "parked calls": (signal) => keep(64, signal, () => sent({ message: ask, signal })),
    "large arguments": (signal) =>
      keep(32, signal, (n) => sent({ message: large[n % large.length], signal })),
  };
  process.on("message", async ({ names, ms }) => {
    const end = new AbortController();
    setMaxListeners(0, end.signal);
    const timer = setTimeout(() => end.abort(), ms);
    await Promise.all(names.map((name) => kinds[name](end.signal)));
    clearTimeout(timer);
    process.send(counts);
  });
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
}

/** A body that never ends, until the gateway or the load ends it. */
function unfinished(port, user, signal) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = () => socket.destroy();
    signal.addEventListener("abort", end, { once: true });
    socket.on("error", () => {});
    socket.on("data", end);
    socket.on("close", () => {
      signal.removeEventListener("abort", end);
      setTimeout(resolve, 10);
    });
    const headers = Object.entries(headersOf(user)).map((entry) => entry.join(": "));
    const head = ["POST /mcp HTTP/1.1", "host: 127.0.0.1", ...headers, `content-length: ${4 * MIB}`, "", ""];
    socket.write(`${head.join("\r\n")}${" ".repeat(256 * 1024)}`);
    if (signal.aborted) end();
  });
}

const statusOf = (pid, field) =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "toolport-flood-"));
  const children = [];
  const start = async (...args) => {
    const child = fork(fileURLToPath(import.meta.url), args);
    children.push(child);
    const ended = once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`${args[0]} ended: ${code}`)),
    );
    ended.catch(() => {});
    const next = async () => (await Promise.race([once(child, "message"), ended]))[0];
    return { child, next, first: await next() };
  };
  try {
    const file = join(folder, "audit.ndjson");
    const server = await start("upstream");
    const served = await start("gateway", JSON.stringify({ url: server.first.url, file }));
    const { port } = served.first;
    const flooding = await start("flood", String(port));
    const { pid } = served.child;
    const agent = new Agent({ keepAlive: true, maxSockets: MAX_OPEN });
    let answered = 0;

    /** `tools/list` of the other user until the promise settles, at a fixed rate: a request that waits does not keep the next one from waiting. */
    const watch = async (until) => {
      const times = [];
      let rss = 0;
      let threads = 0;
      let failures = 0;
      let isOver = false;
      const over = until.finally(() => {
        isOver = true;
      });
      over.catch(() => {});
      const list = async () => {
        const begun = performance.now();
        const signal = AbortSignal.timeout(10_000);
        const answer = await send(port, "alice", { message: messageOf("tools/list", {}), agent, signal });
        times.push(performance.now() - begun);
        if (hasLine(answer)) answered += 1;
        if (answer.status !== 200) failures += 1;
      };
      const sampler = setInterval(() => {
        rss = Math.max(rss, statusOf(pid, "VmRSS") / 1024);
        threads = Math.max(threads, statusOf(pid, "Threads"));
      }, 20);
      try {
        const open = new Set();
        while (!isOver) {
          if (open.size < MAX_OPEN) {
            const request = list().finally(() => open.delete(request));
            open.add(request);
          }
          await sleep(EVERY_MS);
        }
        await Promise.all([...open, over]);
      } finally {
        clearInterval(sampler);
      }
      times.sort((a, b) => a - b);
      const p99 = times[Math.min(times.length - 1, Math.floor(times.length * 0.99))];
      return { median: median(times), p99, count: times.length, failures, rss, threads };
    };

    await watch(sleep(500));
    const quiet = await watch(sleep(QUIET_MS));
    const names = ["bodies", "streams", "programs", "parked calls", "large arguments"];
    const rows = [["quiet", quiet]];
    let counts = {};
    for (const loads of [...names.map((name) => [name]), names]) {
      flooding.child.send({ names: loads, ms: PHASE_MS });
      const figures = await watch(
        flooding.next().then((all) => {
          counts = all;
        }),
      );
      rows.push([loads.length === 1 ? loads[0] : "all together", figures]);
      await sleep(PAUSE_MS);
    }
    server.child.send("calls");
    const { calls } = await server.next();
    served.child.send("close");
    await served.next();
    const log = readLog(file);
    const wanted = { alice: answered, eve: counts.answered ?? 0, calls };
    const lost = Object.entries(wanted).map(([name, least]) => Math.max(0, least - log[name]));
    const lostLines = lost.reduce((sum, each) => sum + each, log.lost);
    report({ rows, quiet, log, wanted, lostLines, counts });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Counts the lines, and follows the chain: each line has the next number and the hash of the one before. */
function readLog(file) {
  const log = { alice: 0, eve: 0, calls: 0, lost: 0, lines: 0, isWhole: true, bytes: 0 };
  const text = readFileSync(file, "utf8");
  log.bytes = text.length;
  let mac = "";
  for (const line of text.trimEnd().split("\n")) {
    const event = JSON.parse(line);
    if (event.seq !== log.lines || event.prev !== mac) log.isWhole = false;
    mac = event.mac;
    log.lines += 1;
    if (event.event === "lost") log.lost += event.count;
    if (event.event !== "request") continue;
    // A call of a program, at the server behind the gateway.
    if (event.server === "up") log.calls += 1;
    else log[event.principal] += 1;
  }
  return log;
}

function report({ rows, quiet, log, wanted, lostLines, counts }) {
  const ms = (value) => value.toFixed(1);
  const headings = [
    "load",
    "`tools/list`",
    "median ms",
    "p99 ms",
    "× quiet",
    "RSS max MB",
    "threads",
    "failed",
  ];
  const cells = rows.map(([name, row]) => [
    ...[name, row.count, ms(row.median), ms(row.p99), `${ms(row.median / quiet.median)}×`],
    ...[Math.round(row.rss), row.threads, row.failures],
  ]);
  console.log(markdownTable(headings, cells).join("\n"));
  console.log(`\nAudit: ${log.lines} lines, ${(log.bytes / MIB).toFixed(1)} MiB, ${lostLines} lost.`);
  console.log(
    `At least ${wanted.alice} + ${wanted.eve} answered requests and ${wanted.calls} calls; lines: ${log.alice} + ${log.eve} and ${log.calls}.`,
  );
  console.log(`The flooding user got ${JSON.stringify(counts)}.`);
  const missed = rows.flatMap(([name, row]) => [
    ...(row.median > TARGETS.times * quiet.median
      ? [`${name}: median over ${TARGETS.times} times quiet`]
      : []),
    ...(row.rss > TARGETS.rssMb ? [`${name}: more than ${TARGETS.rssMb} MB`] : []),
    ...(row.failures > 0 ? [`${name}: ${row.failures} requests of the other user failed`] : []),
  ]);
  if (lostLines > 0) missed.push(`${lostLines} lines lost`);
  if (!log.isWhole) missed.push("the chain of the audit log is broken");
  for (const line of missed) console.log(`MISSED: ${line}`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

await { undefined: main, gateway, upstream, flood }[role](parameter);
