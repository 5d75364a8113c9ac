/**
 * Figures about the sources of `packages/`: files, lines (as `wc -l`), cycles of imports, and what one warm call of a tool runs over stdio, over HTTP
 * and through the gateway (HTTP on both sides, without users).
 *
 *   node scripts/source-figures.mjs [--files]     --files lists the files and functions that each call runs
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { join, posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Sources by their short names: `core/execution/attempt.ts` is `packages/core/src/execution/attempt.ts`. */
const pathOf = (file) => join(root, "packages", file.replace("/", "/src/"));
const names = readdirSync(join(root, "packages")).sort();
const sources = names.flatMap((name) =>
  readdirSync(join(root, "packages", name, "src"), { recursive: true })
    .map((file) => `${name}/${file.replaceAll("\\", "/")}`)
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
    .sort(),
);
const text = new Map(sources.map((file) => [file, readFileSync(pathOf(file), "utf8")]));

function sizes() {
  const lines = sources
    .map((file) => [text.get(file).split("\n").length - 1, file])
    .sort((a, b) => a[0] - b[0]);
  const importers = new Map(sources.map((file) => [file, 0]));
  for (const targets of imports().values())
    for (const target of targets) importers.set(target, importers.get(target) + 1);
  return {
    files: lines.length,
    lines: lines.reduce((sum, [count]) => sum + count, 0),
    median: lines[Math.floor(lines.length / 2)][0],
    longest: lines.at(-1).join(" "),
    packages: Object.fromEntries(
      names.map((name) => {
        const own = sources.filter((file) => file.startsWith(`${name}/`));
        const count = own.reduce((sum, file) => sum + text.get(file).split("\n").length - 1, 0);
        return [name, `${own.length} files, ${count} lines`];
      }),
    ),
    under20: lines.filter(([count]) => count < 20).length,
    under40WithOneImporter: lines.filter(([count, file]) => count < 40 && importers.get(file) === 1).length,
    under60WithOneImporter: lines.filter(([count, file]) => count < 60 && importers.get(file) === 1).length,
  };
}

/** Files of the same package that each file imports, types included: packages form no cycle. */
function imports() {
  const found = new Map();
  for (const file of sources) {
    const targets = ts
      .preProcessFile(text.get(file), true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => name.startsWith("."))
      .map((name) => posix.join(posix.dirname(file), name).replace(/\.js$/, ".ts"))
      .filter((target) => text.has(target));
    found.set(file, new Set(targets));
  }
  return found;
}

/** Groups of files that reach each other, largest first (Tarjan). */
function cycles() {
  const graph = imports();
  const [index, low, stack, groups] = [new Map(), new Map(), [], []];
  const visit = (file) => {
    index.set(file, index.size);
    low.set(file, index.get(file));
    stack.push(file);
    for (const target of graph.get(file)) {
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) low.set(file, Math.min(low.get(file), low.get(target)));
    }
    if (low.get(file) !== index.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) groups.push(group);
  };
  for (const file of sources) if (!index.has(file)) visit(file);
  return groups.sort((a, b) => b.length - a.length);
}

/** A server that answers at once. `answer` is written as source text too, so that the process of the stdio server runs the same. */
function answer({ method, params }) {
  if (method === "initialize")
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    };
  const inputSchema = { type: "object", properties: { text: { type: "string" } } };
  if (method === "tools/list") return { tools: [{ name: "echo", inputSchema }] };
  if (method === "tools/call") return { content: [{ type: "text", text: params.arguments.text }] };
}

const STDIO_SERVER = `
import { createInterface } from "node:readline";
${answer}
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const result = answer(message);
  const outcome = result ? { result } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...outcome }) + "\\n");
});`;

async function serveHttp(request, response) {
  if (request.method !== "POST") return response.writeHead(405).end();
  const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (message.id === undefined) return response.writeHead(202).end();
  const result = answer(message);
  const outcome = result ? { result } : { error: { code: -32601, message: "Method not found" } };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...outcome }));
}

async function listen(handler) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The sources as modules that can be imported one by one. */
function compile(folder) {
  const options = [
    "--noCheck",
    "--declaration",
    "false",
    "--emitDeclarationOnly",
    "false",
    "--noEmit",
    "false",
  ];
  const tsc = join(root, "node_modules/typescript-native/bin/tsc");
  const built = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", ...options, "--outDir", folder],
    { cwd: root, stdio: "inherit" },
  );
  if (built.status !== 0) throw new Error("The sources do not compile.");
  mkdirSync(join(folder, "node_modules/@toolport"), { recursive: true });
  for (const name of names) {
    const manifest = readFileSync(join(root, "packages", name, "package.json"), "utf8");
    writeFileSync(join(folder, name, "package.json"), manifest.replaceAll(/\.ts"/g, '.js"'));
    symlinkSync(join(folder, name), join(folder, "node_modules/@toolport", name), "junction");
  }
  writeFileSync(join(folder, "server.mjs"), STDIO_SERVER);
}

/** Files and functions of the packages that run from the start of a call until its loose ends are done; three calls precede it. */
async function measure(folder, call) {
  const once = async () => {
    await call();
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  };
  for (let warm = 0; warm < 3; warm++) await once();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await once();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const prefix = `${pathToFileURL(folder).href}/`;
  return result
    .filter(({ url }) => url.startsWith(prefix))
    .map(({ url, functions }) => ({
      file: url.slice(prefix.length).replace("/src/", "/"),
      functions: functions.filter(({ ranges }) => ranges[0].count > 0),
    }))
    .filter(({ functions }) => functions.length > 0)
    .sort((a, b) => a.file.localeCompare(b.file));
}

async function warmCalls() {
  const folder = mkdtempSync(join(root, "node_modules", ".figures-"));
  const upstream = await listen(serveHttp);
  try {
    compile(folder);
    const load = (file) => import(pathToFileURL(join(folder, file)).href);
    const { createToolport } = await load("toolport/src/index.js");
    const { createGateway } = await load("gateway/src/index.js");
    const ofLibrary = async (server) => {
      const port = createToolport({ mcpServers: { s: server } });
      await port.tools();
      const call = await measure(folder, () => port.callTool("s__echo", { text: "hello" }));
      await port.close();
      return call;
    };
    const throughGateway = async () => {
      const port = createToolport({ mcpServers: { s: { url: upstream.url } } });
      const gateway = createGateway(port, { auth: false });
      const server = await listen((request, response) => gateway.node(request, response));
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "figures", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const call = await measure(folder, async () => {
        const params = { name: "s__echo", arguments: { text: "hello" }, _meta };
        const response = await fetch(server.url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "s__echo",
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
        });
        const body = await response.text();
        if (!body.includes('"hello"')) throw new Error(`The gateway answered ${response.status}: ${body}`);
      });
      server.close();
      await gateway.close({ drainMs: 0 });
      await port.close();
      return call;
    };
    return {
      stdio: await ofLibrary({ command: process.execPath, args: [join(folder, "server.mjs")] }),
      http: await ofLibrary({ url: upstream.url }),
      gateway: await throughGateway(),
    };
  } finally {
    upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const groups = cycles();
const calls = await warmCalls();
const warmCallFigures = Object.fromEntries(
  Object.entries(calls).map(([way, files]) => [
    way,
    { files: files.length, functions: files.reduce((sum, { functions }) => sum + functions.length, 0) },
  ]),
);
console.log(
  JSON.stringify(
    {
      ...sizes(),
      groupsInCycles: groups.length,
      filesInCycles: groups.flat().length,
      largestCycle: groups[0]?.length ?? 0,
      warmCall: warmCallFigures,
    },
    null,
    2,
  ),
);
if (process.argv.includes("--files")) {
  for (const [way, files] of Object.entries(calls)) {
    console.log(`\n${way}`);
    for (const { file, functions } of files)
      console.log(file, functions.map(({ functionName }) => functionName || "(anonymous)").join(" "));
  }
  for (const group of groups) console.log(group.length, group.join(" "));
}
