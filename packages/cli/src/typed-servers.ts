/** Servers that the user types instead of naming a configured one: a URL, `--stdio "command"` or `-- command`. */
import { resolve } from "node:path";
import { canParseUrl } from "@toolport/base";
import { suggestServerName } from "@toolport/registry/internal";
import { type Invocation, isAddress, type TypedServers } from "./command.js";
import { CliError, usageError } from "./errors.js";
import { shellWord, splitWords } from "./shell-words.js";

/** Extensions of files that web servers run. What follows another dot is the name of a tool. */
const EXTENSION = /^(?:php|aspx?|ashx|cgi|jsp|py|pl|rb|json|js|html?)$/i;

interface TypedServer {
  readonly entry: Readonly<Record<string, unknown>>;
  /** What the user typed: a URL, or the words of a command. */
  readonly typed: string | readonly string[];
}

/** Replaces every typed server by a name, so that commands treat it like a configured one. */
export function nameTypedServers(invocation: Invocation, cwd: string): Invocation {
  const { command, words, passthrough } = invocation;
  const stdio = invocation.text("stdio");
  if (stdio !== undefined && passthrough.length > 0)
    throw usageError(command.name, "A server has one command: use --stdio or --, not both");
  if (stdio !== undefined) return nameCommand(invocation, readWords(stdio), cwd);
  if (passthrough.length > 0) return nameCommand(invocation, passthrough, cwd);
  return command.takesTyped === "servers" ? nameAddresses(invocation) : nameAddress(invocation, words);
}

function nameCommand(invocation: Invocation, started: readonly string[], cwd: string): Invocation {
  const { command, words } = invocation;
  const [program, ...args] = started;
  if (program === undefined) throw usageError(command.name, "--stdio requires a command");
  const address = words.find((word, index) => index === 0 && isAddress(word));
  if (address !== undefined)
    throw usageError(command.name, `A server has a URL or a command, not both: ${address}`);
  forbid(invocation, ["header", "transport"], "a command");
  const env = readEnv(invocation);
  const entry = {
    command: program,
    args,
    cwd: resolve(cwd, invocation.text("cwd") ?? "."),
    ...(env && { env }),
  };
  const name = nameFromCommand(started);
  const servers = { [name]: { entry, typed: started } };
  const [tool, ...rest] = words;
  const isTool = command.takesTyped === "tool" && tool !== undefined;
  const own = isTool ? [`${name}.${tool}`, ...rest] : [name, ...words];
  return { ...invocation, words: own, passthrough: [], typed: toTyped(servers, invocation) };
}

function nameAddress(invocation: Invocation, [first = "", ...rest]: readonly string[]): Invocation {
  const { command } = invocation;
  const isTool = command.takesTyped === "tool";
  const { address, tool } = isTool ? splitAddress(first) : { address: first };
  const name = nameFromUrl(address);
  const servers = { [name]: { entry: urlEntry(address, invocation), typed: address } };
  const typed = toTyped(servers, invocation);
  if (tool !== undefined) return { ...invocation, words: [`${name}.${tool}`, ...rest], typed };
  // `call` also accepts the tool as a word of its own.
  const isCall = isTool && command.positionals[0]?.optional !== true;
  const [second, ...others] = rest;
  if (!isCall) return { ...invocation, words: [name, ...rest], typed };
  if (second === undefined || /^[\w.-]+:?=/.test(second))
    throw new CliError(
      `The tool is missing: write it after the URL, as in ${address}.search`,
      `toolport tools ${shellWord(address)}`,
    );
  return { ...invocation, words: [`${name}.${second}`, ...others], typed };
}

function nameAddresses(invocation: Invocation): Invocation {
  const { command } = invocation;
  const other = invocation.words.find((word) => !isAddress(word));
  if (other !== undefined)
    throw usageError(command.name, `Give URLs or names of configured servers, not both: ${other}`);
  const servers: Record<string, TypedServer> = {};
  for (const address of invocation.words) {
    const wanted = nameFromUrl(address);
    let name = wanted;
    for (let count = 2; Object.hasOwn(servers, name); count += 1) name = `${wanted}-${count}`;
    servers[name] = { entry: urlEntry(address, invocation), typed: address };
  }
  return { ...invocation, words: Object.keys(servers), typed: toTyped(servers, invocation) };
}

function urlEntry(address: string, invocation: Invocation): TypedServer["entry"] {
  const { command } = invocation;
  if (!canParseUrl(address)) throw usageError(command.name, `${JSON.stringify(address)} is not a URL`);
  forbid(invocation, ["env", "cwd"], "a URL");
  const headers = readHeaders(invocation);
  const transport = invocation.text("transport");
  return { url: address, ...(transport && { transport }), ...(headers && { headers }) };
}

/** `https://host/mcp.search(q: 1)`: the tool follows the first dot of the last part of the path. */
function splitAddress(word: string): { address: string; tool?: string } {
  const [, head = "", call = ""] = /^([^(]*)(\(.*)?$/s.exec(word) ?? [];
  const [, base = "", path = "", query = ""] = /^(\w+:\/\/[^/?#]*)([^?#]*)(.*)$/s.exec(head) ?? [];
  const start = path.lastIndexOf("/") + 1;
  const parts = path.slice(start).split(".");
  const count = parts.length > 1 && EXTENSION.test(parts[1]!) ? 2 : 1;
  const tool = parts.slice(count).join(".");
  if (path === "" || tool === "") return { address: word };
  const address = `${base}${path.slice(0, start)}${parts.slice(0, count).join(".")}${query}`;
  return { address, tool: `${tool}${call}` };
}

function toTyped(servers: Readonly<Record<string, TypedServer>>, invocation: Invocation): TypedServers {
  const options = [
    ...invocation.texts("header").map((text) => ` --header '${text.split(":")[0]}: …'`),
    ...invocation.texts("env").map((text) => ` --env ${shellWord(text.split("=")[0] ?? "")}=…`),
  ].join("");
  const replace = (line: string, [name, { typed }]: [string, TypedServer]): string => {
    const [, start, word, end = ""] = /^(toolport \w+) (\S+)(.*)$/s.exec(line) ?? [];
    const plain = word?.replace(/^'(.*)'$/, "$1");
    if (start === undefined || plain === undefined) return line;
    if (plain !== name && !plain.startsWith(`${name}.`)) return line;
    const tool = plain.slice(name.length + 1);
    if (typeof typed !== "string") {
      const toolWord = tool === "" ? "" : ` ${shellWord(tool)}`;
      return `${start}${toolWord}${end}${options} -- ${typed.map(shellWord).join(" ")}`;
    }
    const [, address = "", query = ""] = /^([^?#]*)(.*)$/s.exec(typed) ?? [];
    const hidden = query === "" ? "" : "?…";
    return `${start} ${shellWord(`${address}${tool === "" ? "" : `.${tool}`}${hidden}`)}${end}${options}`;
  };
  return {
    entries: Object.fromEntries(Object.entries(servers).map(([name, { entry }]) => [name, entry])),
    commandFor: (line) => Object.entries(servers).reduce(replace, line),
  };
}

function forbid({ command, options }: Invocation, names: readonly string[], what: string): void {
  const stray = names.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw usageError(command.name, `--${stray} has no effect on ${what}`);
}

export interface Addition {
  readonly name: string;
  /** The entry for the file, with unexpanded variables. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The entry to show to the user. */
  readonly shown: unknown;
  /** The user did not write the entry, so has to see it and agree. */
  readonly needsConsent: boolean;
  readonly warnings: readonly string[];
  /** Messages about what was stored. @default none */
  readonly notes?: readonly string[];
}

/** Undefined if there are none. The error message repeats no value, because it may be a secret. */
export function readPairs(
  texts: readonly string[],
  { mark, option, example }: { mark: "=" | ":"; option: string; example: string },
): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = texts.map((text) => {
    const at = text.indexOf(mark);
    if (at < 1)
      throw usageError(
        "add",
        `${option} requires a name, ${JSON.stringify(mark)} and a value: ${option} ${example}`,
      );
    const value = text.slice(at + 1);
    return [text.slice(0, at).trim(), mark === ":" ? value.trim() : value] as const;
  });
  return Object.fromEntries(pairs);
}

/** `--header`. */
export const readHeaders = (invocation: Invocation): Record<string, string> | undefined =>
  readPairs(invocation.texts("header"), { mark: ":", option: "--header", example: "'X-Name: value'" });

/** `--env`. */
export const readEnv = (invocation: Invocation): Record<string, string> | undefined =>
  readPairs(invocation.texts("env"), { mark: "=", option: "--env", example: "NAME=value" });

/** @throws CliError `USAGE` if a quote or a parenthesis is not closed */
export function readWords(line: string, options?: Parameters<typeof splitWords>[1]): string[] {
  try {
    return splitWords(line, options);
  } catch (error) {
    throw usageError("call", (error as SyntaxError).message);
  }
}

/** Labels of host names that say nothing about the server. */
const GENERIC_LABELS: ReadonlySet<string> = new Set(["mcp", "api", "www", "sse", "app", "server", "remote"]);
/** Public suffixes of two labels, and hosting services whose customers have a label of their own. */
const SUFFIX =
  /\.(?:(?:co|com|org|net|ac|gov|edu)\.[a-z]{2}|workers\.dev|pages\.dev|vercel\.app|netlify\.app|fly\.dev|deno\.dev|onrender\.com|herokuapp\.com|azurewebsites\.net|azurecontainerapps\.io|run\.app|railway\.app|github\.io|ngrok\.io|ngrok\.app|ngrok-free\.app|modal\.run|trycloudflare\.com|[a-z0-9-]+)$/;

/**
 * The label of the host that belongs to the owner of the server.
 *
 * @example
 * ```ts
 * nameFromUrl("https://mcp.linear.app/mcp"); // "linear"
 * nameFromUrl("https://weather.me.workers.dev/sse"); // "weather"
 * ```
 */
export function nameFromUrl(address: string): string {
  const hostname = canParseUrl(address) ? new URL(address).hostname : "";
  if (/^[\d.]+$|^\[|^localhost$/.test(hostname)) return "local";
  const isHosted = /\.(?:workers|pages|vercel|netlify|fly|deno|run|modal)\.(?:dev|app|run)$/.test(hostname);
  const labels = hostname.replace(SUFFIX, "").split(".");
  const specific = labels.filter((label) => !GENERIC_LABELS.has(label));
  // The labels of a hosting service begin with the project, other hosts end with the owner.
  const label = (isHosted ? specific[0] : specific.at(-1)) ?? labels.at(-1) ?? "";
  return suggestServerName(label.replace(/^mcp-|-mcp$/g, ""));
}

/** Programs that run the package, image or file named after them. */
const RUNNERS =
  /^(?:npx|bunx|uvx|pipx|npm|pnpm|yarn|bun|deno|node|tsx|python[\d.]*|uv|docker|podman|java|sh|bash|env|cmd)(?:\.exe|\.cmd)?$/;
const RUNNER_WORDS: ReadonlySet<string> = new Set(["run", "exec", "dlx", "x", "tool", "start", "/c"]);
/** Options of runners that take a value, except those whose value is the program: `-m`, `-jar`. */
const VALUE_OPTION =
  /^(?:-[evpwu]|--(?:env|volume|name|publish|network|mount|workdir|user|from|with|import|require|directory|env-file))$/;
const GENERIC_FILE = /^(?:index|main|server|cli|app|start|stdio)$/i;
const GENERIC_FOLDER = /^(?:|\.|\.\.|dist|build|src|bin|lib|out)$/;

/**
 * The package, image or file that a command runs, without the words that most servers have in common.
 *
 * @example
 * ```ts
 * nameFromCommand(["npx", "-y", "@modelcontextprotocol/server-everything"]); // "everything"
 * nameFromCommand(["node", "weather/dist/index.js"]); // "weather"
 * ```
 */
export function nameFromCommand(words: readonly string[]): string {
  const program = programOf(words);
  const isFile = /^[./~]|\\|\.(?:[cm]?[jt]s|py|jar|sh|exe)$/.test(program) || /^[a-z]:/i.test(program);
  const last = isFile ? fileName(program) : (program.split("/").at(-1) ?? "");
  const bare = last.replace(/(?<=.)(?:@|:|==).*$/, "").replaceAll("_", "-");
  const short = bare
    .replace(/^(?:mcp-server-|server-|mcp-)(?=.)/, "")
    .replace(/(?<=.)-(?:mcp-server|mcp|server)(?:-(?:node|js|ts|py))?$/, "");
  const isGeneric = short === "mcp" || short === "server";
  const scope = /^@([^/]+)\//.exec(program)?.[1];
  return suggestServerName(isGeneric && scope !== undefined ? scope : short);
}

function programOf([command = "", ...args]: readonly string[]): string {
  const runner = command.split(/[\\/]/).at(-1)?.toLowerCase() ?? "";
  if (!RUNNERS.test(runner)) return command;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    if (VALUE_OPTION.test(word)) index += 1;
    else if (!word.startsWith("-") && !RUNNER_WORDS.has(word) && !RUNNERS.test(word)) return word;
  }
  return command;
}

/** The name of a file without its extension, or of the first folder above it that says more. */
function fileName(path: string): string {
  const parts = path.split(/[\\/]/);
  const name = (parts.pop() ?? "").replace(/\.[a-z]+$/i, "");
  if (!GENERIC_FILE.test(name)) return name;
  return parts.findLast((part) => !GENERIC_FOLDER.test(part)) ?? name;
}
