/** Builds an entry from the command line: a URL, or a command after `--`. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { resolveCommand } from "../../config/resolve-path.js";
import { suggestServerName } from "../../registry/suggest-server-name.js";
import { CliError } from "../cli-error.js";
import { flagOption, type Invocation, textOption, textsOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { shellWord } from "../next-command.js";
import type { Addition } from "./addition.js";
import { readPairs } from "./addition.js";

export function readTyped(invocation: Invocation, context: Pick<CommandContext, "cwd">): Addition {
  const { words, passthrough } = invocation;
  const [name, address] = words;
  if (name === undefined) throw usage("name is missing: a name for the server");
  if (passthrough.length > 0 && address !== undefined)
    throw usage(`A server has a URL or a command, not both: ${address}`);
  const entry = passthrough.length > 0 ? typedCommand(invocation, context) : typedUrl(invocation);
  return { name, entry, shown: entry, needsConsent: false, warnings: [] };
}

function typedUrl(invocation: Invocation): Record<string, unknown> {
  const [name = "", address] = invocation.words;
  if (address === undefined) {
    if (!isAddress(name)) throw usage(`${name} needs a URL, or -- and a command`);
    throw new CliError({
      message: "name is missing: a name for the server",
      next: `toolport add ${suggestServerName(new URL(name).hostname.split(".").at(-2) ?? "server")} ${shellWord(name)}`,
    });
  }
  if (!isAddress(address)) {
    throw new CliError({
      message: `${JSON.stringify(address)} is not a URL. Write a command after --`,
      next: `toolport add ${shellWord(name)} -- ${invocation.words.slice(1).map(shellWord).join(" ")}`,
    });
  }
  const headers = readPairs(textsOption(invocation, "header"), {
    mark: ":",
    option: "--header",
    example: "'X-Name: value'",
  });
  const transport = textOption(invocation, "transport");
  return { url: address, ...(transport && { transport }), ...(headers && { headers }) };
}

function typedCommand(invocation: Invocation, { cwd }: Pick<CommandContext, "cwd">): Record<string, unknown> {
  const [command = "", ...args] = invocation.passthrough;
  const env = readPairs(textsOption(invocation, "env"), {
    mark: "=",
    option: "--env",
    example: "NAME=value",
  });
  const given = textOption(invocation, "cwd");
  const isProject = flagOption(invocation, "project");
  // The configuration file is in another directory, so relative paths need a working directory.
  const namesFiles = args.some((arg) => /^[^-/].*[./\\]/.test(arg) && existsSync(resolve(cwd, arg)));
  const folder = given !== undefined ? resolve(cwd, given) : namesFiles ? (isProject ? "." : cwd) : undefined;
  return {
    command: isProject ? command : resolveCommand(cwd, command),
    ...(args.length > 0 && { args }),
    ...(env && { env }),
    ...(folder !== undefined && { cwd: folder }),
  };
}

/** A variable may contain the whole URL. */
const isAddress = (text: string): boolean => /^(?:https?|wss?):\/\//i.test(text) || /^\$\{[^}]+\}/.test(text);

const usage = (message: string): CliError => new CliError({ message, next: "toolport add --help" });
