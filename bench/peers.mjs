/** The libraries Toolport is measured against: which versions, and how they get into `.cache/bench-peers/`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cache, npmInstall } from "../scripts/fetch-tool.mjs";

/** Newer releases of the SDK, which langgraph would get, need a newer core. */
const LANGCHAIN = {
  "@langchain/core": "1.2.13",
  "@langchain/langgraph": "1.4.18",
  "@langchain/langgraph-sdk": "1.12.0",
};
const SDK_V2 = { "@modelcontextprotocol/client": "2.4.0" };

/** Packages of each contender; the first one gives its name and version. */
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
const LOADER = "import-here.mjs";
/** Each in its own folder, so that one library does not influence the versions of another, and one failure does not stop the others. */
const folderOf = (contender) => join(cache, "bench-peers", contender.replace("-modern", ""));

function installedVersion(folder, name) {
  const manifest = join(folder, "node_modules", name, "package.json");
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined;
}

/** Installs the packages of a contender, unless they are installed. */
export async function fetchPeer(contender) {
  const wanted = Object.entries(PEERS[contender]);
  const folder = folderOf(contender);
  if (wanted.some(([name, version]) => installedVersion(folder, name) !== version)) {
    const packages = wanted.map(([name, version]) => `${name}@${version}`);
    await npmInstall(folder, packages, { timeoutMs: INSTALL_TIMEOUT_MS });
  }
  // A module in that folder resolves imports like a program of the library's user.
  writeFileSync(join(folder, LOADER), "export const importHere = (name) => import(name);\n");
}

/** Imports a module from the folder of a contender. */
export async function importPeer(contender, name) {
  const { importHere } = await import(pathToFileURL(join(folderOf(contender), LOADER)).href);
  return importHere(name);
}
