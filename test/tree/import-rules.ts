/**
 * Which package may import which, as data; the order of the modules inside `core`; and the check of one file's imports. See
 * docs/architecture.md. The compiler checks the packages too: a package sees only those that its `tsconfig.json` references.
 */
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { findImports, type ImportStatement } from "./import-statements.js";

/** From the lowest up. A package imports only packages further left, by their names. */
export const PACKAGES: readonly (readonly string[])[] = [
  ["base"],
  ["http", "schemas", "stores"],
  ["core"],
  ["registry", "config", "testing", "adapters", "code"],
  ["gateway", "console"],
  ["cli"],
  ["toolport"],
];

/** The modules of `core`, in the same way. `index.ts` and `internal.ts` are above all of them. */
export const MODULES: readonly (readonly string[])[] = [
  ["config", "content"],
  ["transports"],
  ["protocol", "auth"],
  ["connection"],
  ["catalog"],
  ["execution"],
  ["port"],
  ["toolport"],
  ["index"],
];

/** Folders that may load a package (not merely its types). The first match decides; a package not listed is free. */
const PACKAGE_HOMES: readonly {
  readonly matches: RegExp;
  readonly name: string;
  readonly homes: string[];
}[] = [
  {
    name: "SDK values",
    matches: /^@modelcontextprotocol\/client(\/|$)/,
    homes: ["core/protocol", "core/transports", "core/auth", "cli/demo"],
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
    homes: ["stores"],
  },
];

/** Folders that work with processes, files, sockets or script time limits. */
const NODE_HOMES = [
  "core/transports",
  "http",
  "schemas/bounded",
  "stores",
  "config",
  "testing",
  "code",
  "gateway",
  "console",
  "cli",
];

/** Everything wrong with one file's imports, one sentence each, starting with `<file>:<line>`. */
export function checkImports(file: string, text: string): string[] {
  if (levelIn(PACKAGES, packageOf(file)) < 0) return [`${file}:1 is in a package that is not in the list`];
  if (isInCore(file) && levelIn(MODULES, moduleOf(file)) < 0)
    return [`${file}:1 is in the module "${moduleOf(file)}", which is not in the list`];
  return findImports(file, text).flatMap((statement) => {
    const { specifier, line } = statement;
    const problem = specifier.startsWith(".")
      ? wrongModule(file, specifier)
      : (wrongPackage(file, specifier) ?? wrongHome(file, statement));
    return problem ? [`${file}:${line} imports "${specifier}": ${problem}`] : [];
  });
}

/** Another package is imported by its name, and only if it is further left. */
function wrongPackage(file: string, specifier: string): string | undefined {
  const name =
    /^@toolport\/([^/]+)/.exec(specifier)?.[1] ?? (/^toolport(\/|$)/.test(specifier) ? "toolport" : "");
  if (name === "") return undefined;
  const own = packageOf(file);
  if (own === name) return "a package imports its own files by relative paths";
  const [from, to] = [levelIn(PACKAGES, own), levelIn(PACKAGES, name)];
  if (to < 0) return `there is no package "${name}"`;
  return to < from ? undefined : `${own} may not import ${name}`;
}

function wrongModule(file: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
  if (packageOf(target) !== packageOf(file)) return "it leaves the package";
  if (!isInCore(file)) return undefined;
  const [from, to] = [moduleOf(file), moduleOf(target)];
  if (from === to) return undefined;
  const [own, other] = [levelIn(MODULES, from), levelIn(MODULES, to)];
  if (other < 0) return `the module "${to}" is not in the list`;
  if (other === own) return `${from} and ${to} are in the same layer and may not import each other`;
  return other < own ? undefined : `it points up, ${from} is below ${to}`;
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

const liesIn = (file: string, homes: readonly string[]): boolean =>
  homes.some((home) => file.startsWith(`${home}/`));

const packageOf = (file: string): string => file.slice(0, file.indexOf("/"));

const isInCore = (file: string): boolean => packageOf(file) === "core";

/** The folder of a file of `core`. `toolport.ts` and `create-toolport.ts` are one module. */
function moduleOf(file: string): string {
  const [, folder = "", path] = file.split("/");
  if (path !== undefined) return folder;
  return folder === "index.ts" || folder === "internal.ts" ? "index" : "toolport";
}

const levelIn = (list: readonly (readonly string[])[], name: string): number =>
  list.findIndex((level) => level.includes(name));
