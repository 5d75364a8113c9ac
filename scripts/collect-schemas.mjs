/**
 * Collects the tool schemas of real MCP servers into `test/fixtures/schemas/`: `node scripts/collect-schemas.mjs [package …]`.
 *
 * Downloads each server from the npm registry into `.cache/` (no install scripts), starts it over stdio with the built
 * Toolport and its own home directory, lists its tools, and stops it. It calls no tool and uses no real key: servers
 * that only check whether a key exists get a made-up one. Servers that do not start are reported and left out.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport } from "../dist/index.js";
import { cache, npmInstall, root, run } from "./fetch-tool.mjs";
import { SERVERS } from "./schema-servers.mjs";

const START_TIMEOUT_MS = 60_000;
const INSTALL_TIMEOUT_MS = 240_000;
/** One server with thousands of generated tools must not dominate the corpus. */
const MAX_TOOLS = 40;
const MAX_SCHEMA_CHARS = 40_000;

const target = join(root, "test", "fixtures", "schemas");

const asked = process.argv.slice(2);
const chosen = asked.length === 0 ? SERVERS : SERVERS.filter((server) => asked.includes(server.package));
await mkdir(target, { recursive: true });
let total = 0;
for (const server of chosen) {
  try {
    const { version, tools } = await collect(server);
    total += tools.length;
    const record = { server: `${server.package}@${version}`, tools };
    await writeFile(join(target, `${fileNameOf(server.package)}.json`), `${JSON.stringify(record)}\n`);
    console.log(`${String(tools.length).padStart(4)}  ${record.server}`);
  } catch (error) {
    console.log(`   -  ${server.package}: ${String(error.message).split("\n")[0].slice(0, 200)}`);
  }
}
await run("npx", ["biome", "format", "--write", target], { timeoutMs: INSTALL_TIMEOUT_MS });
console.log(`${total} tools`);

async function collect(server) {
  const prefix = join(cache, "schema-servers", fileNameOf(server.package));
  const manifestPath = join(prefix, "node_modules", server.package, "package.json");
  if (!existsSync(manifestPath))
    await npmInstall(prefix, [server.package], { timeoutMs: INSTALL_TIMEOUT_MS });
  const manifest = JSON.parse(await readFile(manifestPath, "utf8"));
  const home = await mkdtemp(join(tmpdir(), "toolport-schemas-"));
  const program = join(prefix, "node_modules", server.package, binOf(manifest, server.bin));
  const entry = {
    command: process.execPath,
    args: [program, ...argsOf(server, home)],
    cwd: home,
    env: { HOME: home, CI: "1", DO_NOT_TRACK: "1", ...server.env },
  };
  const toolport = createToolport({ mcpServers: { it: entry }, onServerError: "throw" });
  try {
    await toolport.connect({ timeoutMs: START_TIMEOUT_MS });
    const tools = await toolport.tools();
    if (tools.length === 0) throw new Error("no tools");
    return { version: manifest.version, tools: pick(tools).map(toRecord) };
  } finally {
    await toolport.close();
    await rm(home, { recursive: true, force: true });
  }
}

/** Evenly spread over the list, so that a group of similar tools does not displace the others. */
function pick(tools) {
  const fitting = tools.filter((tool) => JSON.stringify(tool.inputSchema).length <= MAX_SCHEMA_CHARS);
  if (fitting.length <= MAX_TOOLS) return fitting;
  return Array.from(
    { length: MAX_TOOLS },
    (_, index) => fitting[Math.floor((index * fitting.length) / MAX_TOOLS)],
  );
}

function toRecord({ sourceName, inputSchema, outputSchema }) {
  return { name: sourceName, inputSchema, outputSchema };
}

function fileNameOf(name) {
  return name.replace(/^@/, "").replaceAll("/", "-");
}

function argsOf({ args = [] }, home) {
  return args.map((arg) => arg.replaceAll("$HOME", home));
}

function binOf(manifest, wanted) {
  if (typeof manifest.bin === "string") return manifest.bin;
  const bins = Object.entries(manifest.bin ?? {});
  const found = bins.find(([name]) => name === wanted) ?? bins[0];
  if (found === undefined) throw new Error("has no program");
  return found[1];
}
