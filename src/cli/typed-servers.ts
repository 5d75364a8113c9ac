/** Servers that the user types instead of naming a configured one: a URL, `--stdio "command"` or `-- command`. */

import { resolve } from "node:path";
import { canParseUrl } from "../util/can-parse-url.js";
import { readEnv, readHeaders } from "./add/addition.js";
import { CliError } from "./cli-error.js";
import { type Invocation, isAddress, textOption, textsOption } from "./command.js";
import type { TypedServers } from "./command-context.js";
import { shellWord } from "./next-command.js";
import { nameFromCommand, nameFromUrl } from "./server-names.js";
import { splitWords } from "./split-words.js";

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
  const stdio = textOption(invocation, "stdio");
  if (stdio !== undefined && passthrough.length > 0)
    throw usage(invocation, "A server has one command: use --stdio or --, not both");
  const started = stdio === undefined ? passthrough : splitWords(stdio);
  return started.length > 0 || stdio !== undefined
    ? nameCommand(invocation, started, cwd)
    : command.takesTyped === "servers"
      ? nameAddresses(invocation)
      : nameAddress(invocation, words);
}

function nameCommand(invocation: Invocation, started: readonly string[], cwd: string): Invocation {
  const { command, words } = invocation;
  const [program, ...args] = started;
  if (program === undefined) throw usage(invocation, "--stdio requires a command");
  const address = words.find((word, index) => index === 0 && isAddress(word));
  if (address !== undefined) throw usage(invocation, `A server has a URL or a command, not both: ${address}`);
  forbid(invocation, ["header", "transport"], "a command");
  const env = readEnv(invocation);
  const entry = {
    command: program,
    args,
    cwd: resolve(cwd, textOption(invocation, "cwd") ?? "."),
    ...(env && { env }),
  };
  const name = nameFromCommand(started);
  const servers = { [name]: { entry, typed: started } };
  const [tool, ...rest] = words;
  const own =
    command.takesTyped !== "tool"
      ? [name, ...words]
      : tool === undefined
        ? [name]
        : [`${name}.${tool}`, ...rest];
  return { ...invocation, words: own, passthrough: [], typed: toTyped(servers, invocation) };
}

function nameAddress(invocation: Invocation, [first = "", ...rest]: readonly string[]): Invocation {
  const { command } = invocation;
  const { address, tool } =
    command.takesTyped === "tool" ? splitAddress(first) : { address: first, tool: undefined };
  const name = nameFromUrl(address);
  const servers = { [name]: { entry: urlEntry(address, invocation), typed: address } };
  const typed = toTyped(servers, invocation);
  if (tool !== undefined) return { ...invocation, words: [`${name}.${tool}`, ...rest], typed };
  // `call` also accepts the tool as a word of its own.
  const isCall = command.takesTyped === "tool" && command.positionals[0]?.optional !== true;
  const [second, ...others] = rest;
  if (!isCall) return { ...invocation, words: [name, ...rest], typed };
  if (second === undefined || /^[\w.-]+:?=/.test(second))
    throw new CliError({
      message: `The tool is missing: write it after the URL, as in ${address}.search`,
      next: `toolport tools ${shellWord(address)}`,
    });
  return { ...invocation, words: [`${name}.${second}`, ...others], typed };
}

function nameAddresses(invocation: Invocation): Invocation {
  const other = invocation.words.find((word) => !isAddress(word));
  if (other !== undefined)
    throw usage(invocation, `Give URLs or names of configured servers, not both: ${other}`);
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
  if (!canParseUrl(address)) throw usage(invocation, `${JSON.stringify(address)} is not a URL`);
  forbid(invocation, ["env", "cwd"], "a URL");
  const headers = readHeaders(invocation);
  const transport = textOption(invocation, "transport");
  return { url: address, ...(transport && { transport }), ...(headers && { headers }) };
}

/** `https://host/mcp.search(q: 1)`: the tool follows the first dot of the last part of the path. */
function splitAddress(word: string): { address: string; tool: string | undefined } {
  const [, head = "", call = ""] = /^([^(]*)(\(.*)?$/s.exec(word) ?? [];
  const [, base = "", path = "", query = ""] = /^(\w+:\/\/[^/?#]*)([^?#]*)(.*)$/s.exec(head) ?? [];
  const start = path.lastIndexOf("/") + 1;
  const parts = path.slice(start).split(".");
  const count = parts.length > 1 && EXTENSION.test(parts[1]!) ? 2 : 1;
  const tool = parts.slice(count).join(".");
  if (path === "" || tool === "") return { address: word, tool: undefined };
  const address = `${base}${path.slice(0, start)}${parts.slice(0, count).join(".")}${query}`;
  return { address, tool: `${tool}${call}` };
}

function toTyped(servers: Readonly<Record<string, TypedServer>>, invocation: Invocation): TypedServers {
  const options = [
    ...textsOption(invocation, "header").map((text) => ` --header '${text.split(":")[0]}: …'`),
    ...textsOption(invocation, "env").map((text) => ` --env ${shellWord(text.split("=")[0] ?? "")}=…`),
  ].join("");
  const replace = (line: string, [name, { typed }]: [string, TypedServer]): string => {
    const [, start, word, end = ""] = /^(toolport \w+) (\S+)(.*)$/s.exec(line) ?? [];
    const plain = word?.replace(/^'(.*)'$/, "$1");
    if (start === undefined || plain === undefined) return line;
    if (plain !== name && !plain.startsWith(`${name}.`)) return line;
    const tool = plain.slice(name.length + 1);
    if (typeof typed !== "string") {
      const shown = tool === "" ? "" : ` ${shellWord(tool)}`;
      return `${start}${shown}${end}${options} -- ${typed.map(shellWord).join(" ")}`;
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

function forbid(invocation: Invocation, options: readonly string[], what: string): void {
  const given = options.find((option) => invocation.options[option] !== undefined);
  if (given !== undefined) throw usage(invocation, `--${given} has no effect on ${what}`);
}

const usage = ({ command }: Invocation, message: string): CliError =>
  new CliError({ message, next: `toolport ${command.name} --help` });
