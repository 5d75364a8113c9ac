/**
 * Figures about `src/`: files, lines, cycles inside a module, and what one warm `callTool` over stdio runs.
 *
 *   node scripts/source-figures.mjs [--files]     --files lists the files and functions that the call touches
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = readdirSync(join(root, "src"), { recursive: true })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.startsWith("console/page/"))
  .sort();
const text = new Map(sources.map((file) => [file, readFileSync(join(root, "src", file), "utf8")]));

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
    under20: lines.filter(([count]) => count < 20).length,
    under40WithOneImporter: lines.filter(([count, file]) => count < 40 && importers.get(file) === 1).length,
    under60WithOneImporter: lines.filter(([count, file]) => count < 60 && importers.get(file) === 1).length,
  };
}

/** Files of `src/` that each file imports, types included. */
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

const SERVER = `
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize")
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } });
  else if (method === "tools/list")
    send({ id, result: { tools: [{ name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] } });
  else if (method === "tools/call") send({ id, result: { content: [{ type: "text", text: params.arguments.text }] } });
  else send({ id, error: { code: -32601, message: "Method not found" } });
});`;

/** Files and functions of `src/` that run between the start and the end of a call that follows three others. */
async function warmCall() {
  const folder = mkdtempSync(join(root, "node_modules", ".figures-"));
  try {
    const options = [
      "--noEmit",
      "false",
      "--outDir",
      folder,
      "--rootDir",
      "src",
      "--declaration",
      "false",
      "--inlineSourceMap",
    ];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const built = spawnSync(
      process.execPath,
      [tsc, "-p", "tsconfig.build.json", "--emitDeclarationOnly", "false", ...options],
      { cwd: root, stdio: "inherit" },
    );
    if (built.status !== 0) throw new Error("The sources do not compile.");
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({
        type: "module",
        version: manifest.version,
        imports: JSON.parse(
          JSON.stringify(manifest.imports).replaceAll("./dist/", "./").replaceAll(".cjs", ".js"),
        ),
      }),
    );
    writeFileSync(join(folder, "server.mjs"), SERVER);
    const { createToolport } = await import(pathToFileURL(join(folder, "index.js")).href);
    const port = createToolport({
      mcpServers: { s: { command: process.execPath, args: [join(folder, "server.mjs")] } },
    });
    await port.tools();
    for (let warm = 0; warm < 3; warm++) await port.callTool("s__echo", { text: "hello" });
    const session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await session.post("Profiler.takePreciseCoverage");
    await port.callTool("s__echo", { text: "hello" });
    const { result } = await session.post("Profiler.takePreciseCoverage");
    await port.close();
    const prefix = `${pathToFileURL(folder).href}/`;
    const files = result
      .filter(({ url }) => url.startsWith(prefix))
      .map(({ url, functions }) => ({
        file: url.slice(prefix.length),
        functions: functions.filter(({ ranges }) => ranges[0].count > 0),
      }))
      .filter(({ functions }) => functions.length > 0)
      .sort((a, b) => a.file.localeCompare(b.file));
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const groups = cycles();
const call = await warmCall();
console.log(
  JSON.stringify(
    {
      ...sizes(),
      groupsInCycles: groups.length,
      filesInCycles: groups.flat().length,
      largestCycle: groups[0]?.length ?? 0,
      filesOfWarmCall: call.length,
      functionsOfWarmCall: call.reduce((sum, { functions }) => sum + functions.length, 0),
    },
    null,
    2,
  ),
);
if (process.argv.includes("--files")) {
  for (const { file, functions } of call)
    console.log(file, functions.map(({ functionName }) => functionName || "(anonymous)").join(" "));
  for (const group of groups) console.log(group.length, group.join(" "));
}
