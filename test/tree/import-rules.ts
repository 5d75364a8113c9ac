/** The order of the modules of `src/` as data, and the check of one file's imports against it. See docs/architecture.md. */
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { findImports, type ImportStatement } from "./import-statements.js";

/** From the lowest layer up. A module may import from lower layers only, never from a higher one or from another module of its layer. */
export const LAYERS: readonly (readonly string[])[] = [
  ["util"],
  ["errors"],
  ["telemetry"],
  ["model", "network"],
  ["config", "schema", "content"],
  ["transports", "state"],
  ["protocol", "auth"],
  ["connection"],
  ["catalog"],
  ["execution"],
  ["port"],
  ["toolport"],
  ["code"],
  ["adapters", "registry", "node", "testing", "serve"],
  ["index"],
  ["cli", "console"],
];

/** Modules that may import from these modules of their own layer. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  cli: ["console"],
};

/** Folders that may load a package (not merely its types). The first match decides; a package not listed is free. */
const PACKAGE_HOMES: readonly {
  readonly matches: RegExp;
  readonly name: string;
  readonly homes: string[];
}[] = [
  {
    name: "SDK values",
    matches: /^@modelcontextprotocol\/client(\/|$)/,
    homes: ["protocol", "transports", "auth", "cli/demo"],
  },
  {
    name: "the SDK's server package",
    matches: /^@modelcontextprotocol\/server(\/|$)/,
    homes: ["testing", "cli/demo"],
  },
  { name: "any other MCP package", matches: /^@modelcontextprotocol\//, homes: [] },
  { name: "LangChain", matches: /^(@langchain\/|langchain(\/|$))/, homes: ["adapters/langchain"] },
  { name: "the AI SDK", matches: /^(ai|@ai-sdk\/.*)(\/|$)/, homes: ["adapters/ai-sdk", "adapters/agents"] },
  { name: "OpenAI's client", matches: /^openai(\/|$)/, homes: ["adapters/openai"] },
  { name: "Anthropic's client", matches: /^@anthropic-ai\//, homes: ["adapters/anthropic"] },
  { name: "Google's client", matches: /^@google\/genai(\/|$)/, homes: ["adapters/gemini"] },
  {
    name: "a database driver",
    matches: /^(ioredis|pg|@photostructure\/sqlite)(\/|$)/,
    homes: ["state/stores"],
  },
];

/** Folders that work with processes, files, sockets or script time limits. */
const NODE_HOMES = [
  "transports",
  "schema/bounded",
  "node",
  "testing",
  "cli",
  "console",
  "serve",
  "code",
  "state/stores",
  "serve/replicas",
];

/** Everything wrong with one file's imports, one sentence each, starting with `src/<file>:<line>`. */
export function checkImports(file: string, text: string): string[] {
  const module = moduleOf(file);
  const layer = layerOf(module);
  if (layer < 0) return [`src/${file}:1 is in the module "${module}", which is not in the list of layers`];
  return findImports(file, text).flatMap((found) => {
    const problem = found.specifier.startsWith(".")
      ? wrongWay(file, found.specifier)
      : wrongHome(file, found);
    return problem ? [`src/${file}:${found.line} imports "${found.specifier}": ${problem}`] : [];
  });
}

function wrongWay(file: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
  if (target.startsWith("..")) return "it leaves src/";
  const [from, to] = [moduleOf(file), moduleOf(target)];
  if (from === to) return undefined;
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)];
  if (toLayer < 0) return `the module "${to}" is not in the list of layers`;
  if (toLayer < fromLayer || NEIGHBOURS[from]?.includes(to)) return undefined;
  if (toLayer === fromLayer) return `${from} and ${to} are in the same layer and may not import each other`;
  return `it points up, ${from} is below ${to}`;
}

function wrongHome(file: string, { specifier, kind }: ImportStatement): string | undefined {
  if (kind === "type") return undefined;
  if (isBuiltin(specifier))
    return liesIn(file, NODE_HOMES) ? undefined : notHere("node: modules", NODE_HOMES);
  const rule = PACKAGE_HOMES.find(({ matches }) => matches.test(specifier));
  return !rule || liesIn(file, rule.homes) ? undefined : notHere(rule.name, rule.homes);
}

function notHere(name: string, homes: readonly string[]): string {
  return homes.length > 0 ? `${name} may be loaded only in ${homes.join(", ")}` : `${name} may not be loaded`;
}

function liesIn(file: string, homes: readonly string[]): boolean {
  return homes.some((home) => file.startsWith(`${home}/`));
}

function moduleOf(file: string): string {
  if (/^transports\/(http\/network\/|to-plain-text)/.test(file)) return "network";
  if (file.includes("/")) return file.slice(0, file.indexOf("/"));
  // Files directly in `src/` belong to `toolport.ts`; only the public entry point is above it.
  return file === "index.ts" ? "index" : "toolport";
}

function layerOf(module: string): number {
  return LAYERS.findIndex((modules) => modules.includes(module));
}
