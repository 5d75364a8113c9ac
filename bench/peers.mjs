/** The libraries Toolport is measured against: which versions, and how they get into `.cache/bench-peers/`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cache, npmInstall } from "../scripts/fetch-tool.mjs";

const LANGCHAIN = { "@langchain/core": "1.2.13", "@langchain/langgraph": "1.4.18" };
const SDK_V2 = { "@modelcontextprotocol/client": "2.4.0" };

/** By contender: the packages it needs, the one it is called after first. */
export const PEERS = {
  "sdk-v1": { "@modelcontextprotocol/sdk": "1.32.2", zod: "4.6.7" },
  "sdk-v2": SDK_V2,
  "sdk-v2-modern": SDK_V2,
  langchain: { "@langchain/mcp-adapters": "1.1.4", ...LANGCHAIN },
  "ai-sdk": { "@ai-sdk/mcp": "2.0.93", zod: "4.6.7" },
  "mcp-use": { "mcp-use": "1.34.6", ...LANGCHAIN, langchain: "1.5.14", zod: "4.6.7" },
  mastra: { "@mastra/mcp": "2.0.0", "@mastra/core": "1.71.0", zod: "4.6.7" },
  mcporter: { mcporter: "0.9.0" },
};

const INSTALL_TIMEOUT_MS = 300_000;
const DOOR = "import-here.mjs";
/** Each in a folder of its own, so that none decides which versions another gets, and none that fails stops another. */
const folderOf = (contender) => join(cache, "bench-peers", contender.replace("-modern", ""));

function installedVersion(folder, name) {
  const manifest = join(folder, "node_modules", name, "package.json");
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined;
}

/** Installs what a contender needs, unless it is there. */
export async function fetchPeer(contender) {
  const wanted = Object.entries(PEERS[contender]);
  const folder = folderOf(contender);
  if (wanted.some(([name, version]) => installedVersion(folder, name) !== version)) {
    const packages = wanted.map(([name, version]) => `${name}@${version}`);
    await npmInstall(folder, packages, { timeoutMs: INSTALL_TIMEOUT_MS });
  }
  // A module in that folder imports by Node's own rules, as a program of the library's user would.
  writeFileSync(join(folder, DOOR), "export const importHere = (name) => import(name);\n");
}

/** A module of a contender's, from its folder. */
export async function importPeer(contender, name) {
  const { importHere } = await import(pathToFileURL(join(folderOf(contender), DOOR)).href);
  return importHere(name);
}
