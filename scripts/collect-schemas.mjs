/**
 * Collects the tools of real MCP servers: `node scripts/collect-schemas.mjs [--definitions] [package …]`.
 *
 * Without an option: the schemas of up to 40 tools a server, into `test/fixtures/schemas/`. With `--definitions`: the whole
 * definitions of all tools of 20 servers with pinned versions, into `test/fixtures/definitions/`, each with its number of tokens.
 *
 * Downloads each server from the npm registry into `.cache/` (no install scripts), starts it over stdio with the built
 * Toolport and its own home directory, lists its tools, and stops it. It calls no tool and uses no real key: servers
 * that only check whether a key exists get a made-up one. Servers that do not start are reported and left out.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport } from "../packages/toolport/dist/index.js";
import { countTokens } from "./count-tokens.mjs";
import { cache, fetchTool, npmInstall, root, run } from "./fetch-tool.mjs";
import { DEFINITION_SERVERS, SERVERS } from "./schema-servers.mjs";

const START_TIMEOUT_MS = 60_000;
const INSTALL_TIMEOUT_MS = 240_000;
/** One server with thousands of generated tools must not dominate the corpus of schemas. */
const MAX_TOOLS = 40;
const MAX_SCHEMA_CHARS = 40_000;

const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isWhole = process.argv.includes("--definitions");
const target = join(root, "test", "fixtures", isWhole ? "definitions" : "schemas");

const chosen = SERVERS.filter(
  (server) =>
    (!isWhole || server.package in DEFINITION_SERVERS) &&
    (asked.length === 0 || asked.includes(server.package)),
);
await mkdir(target, { recursive: true });
let total = 0;
let failed = 0;
for (const server of chosen) {
  try {
    const { version, tools } = await collect(server);
    const record = { server: `${server.package}@${version}`, tools: await toRecords(tools) };
    total += record.tools.length;
    await writeFile(join(target, `${recordNameOf(server.package)}.json`), `${JSON.stringify(record)}\n`);
    console.log(`${String(record.tools.length).padStart(4)}  ${record.server}`);
  } catch (error) {
    failed += 1;
    console.log(`   -  ${server.package}: ${String(error.message).split("\n")[0].slice(0, 200)}`);
  }
}
await run("npx", ["biome", "format", "--write", target], { timeoutMs: INSTALL_TIMEOUT_MS });
console.log(`${total} tools`);
// The corpus of definitions is whole or of no use: its figures are compared with earlier ones.
if (isWhole && failed > 0) process.exitCode = 1;

async function collect(server) {
  const folder = await install(server.package);
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const home = await mkdtemp(join(tmpdir(), "toolport-schemas-"));
  const entry = {
    command: process.execPath,
    args: [join(folder, binOf(manifest, server.bin)), ...argsOf(server, home)],
    cwd: home,
    env: { HOME: home, CI: "1", DO_NOT_TRACK: "1", ...server.env },
  };
  const toolport = createToolport({ mcpServers: { it: entry }, onServerError: "throw" });
  try {
    await toolport.connect({ timeoutMs: START_TIMEOUT_MS });
    const tools = await toolport.tools();
    if (tools.length === 0) throw new Error("no tools");
    return { version: manifest.version, tools: withoutPath(tools, home) };
  } finally {
    await toolport.close();
    await rm(home, { recursive: true, force: true });
  }
}

/** The folder of the server's package. */
async function install(name) {
  if (isWhole)
    return fetchTool(fileNameOf(name), name, DEFINITION_SERVERS[name].version, {
      into: join(cache, "definition-servers"),
    });
  const prefix = join(cache, "schema-servers", fileNameOf(name));
  const folder = join(prefix, "node_modules", name);
  if (!existsSync(join(folder, "package.json")))
    await npmInstall(prefix, [name], { timeoutMs: INSTALL_TIMEOUT_MS });
  return folder;
}

/** Some servers name their working directory in a description; it differs in every run. */
function withoutPath(tools, home) {
  return JSON.parse(JSON.stringify(tools).replaceAll(home, "/home/user"));
}

function toRecords(tools) {
  return isWhole ? Promise.all(tools.map(toDefinition)) : pick(tools).map(toSchemas);
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

function toSchemas({ sourceName, inputSchema, outputSchema }) {
  return { name: sourceName, inputSchema, outputSchema };
}

async function toDefinition({ sourceName, title, description, inputSchema, annotations }) {
  const tokens = await countTokens(JSON.stringify({ name: sourceName, description, inputSchema }));
  return { name: sourceName, title, description, inputSchema, annotations, tokens };
}

function recordNameOf(name) {
  return isWhole ? DEFINITION_SERVERS[name].name : fileNameOf(name);
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
