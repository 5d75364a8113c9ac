/** Chooses the command to try after an error. */
import { AuthError } from "../errors/auth-error.js";
import { CatalogError } from "../errors/catalog-error.js";
import { ConfigError } from "../errors/config-error.js";
import { SuspensionError } from "../errors/suspension-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { replaceHidden } from "../util/visible-text.js";
import { CliError } from "./cli-error.js";
import { Interruption } from "./interruption.js";
import { plainLine } from "./plain-text.js";

/** A complete command line; undefined only after an interruption. */
export function nextCommand(error: unknown): string | undefined {
  if (error instanceof Interruption) return undefined;
  if (error instanceof CliError) return error.next ?? "toolport --help";
  if (!ToolportError.isInstance(error)) return "toolport doctor";
  const { server, tool } = error;
  if (error instanceof AuthError) return commandOf("auth", server);
  if (error instanceof CatalogError) return afterCatalogError(error);
  if (error instanceof SuspensionError) return afterSuspensionError(error);
  if (error instanceof ConfigError)
    return error.code === "UNKNOWN_SERVER" ? "toolport list" : commandOf("doctor", server);
  if (error instanceof ToolCallError) {
    if (error.code === "TIMEOUT" || error.code === "FALLBACK_EXHAUSTED") return commandOf("doctor", server);
    // Without a tool, the invalid arguments belong to a prompt.
    if (error.code === "INVALID_ARGUMENTS" && server !== undefined)
      return tool === undefined
        ? commandOf("prompts", server)
        : `toolport tools ${shellWord(`${server}.${tool}`)}`;
    if (server !== undefined) return `toolport inspect ${shellWord(server)} --raw`;
  }
  return commandOf("doctor", server);
}

function afterCatalogError({ code, server, suggestions }: CatalogError): string {
  const [close] = suggestions;
  switch (code) {
    case "TOOL_NOT_FOUND":
      return close === undefined ? commandOf("tools", server) : `toolport tools ${shellWord(close)}`;
    case "RESOURCE_NOT_FOUND":
      return commandOf("resources", server);
    case "PROMPT_NOT_FOUND":
      return commandOf("prompts", server);
    case "DISCOVERY_FAILED":
      return server === undefined ? "toolport doctor" : `${commandOf("inspect", server)} --raw`;
    default:
      return server === undefined ? "toolport list" : commandOf("inspect", server);
  }
}

function afterSuspensionError({ code, server, tool }: SuspensionError): string {
  switch (code) {
    case "SUSPENSION_UNKNOWN":
      return "toolport suspended";
    case "SUSPENSION_EXPIRED":
      return "toolport resume - --restart";
    case "SUSPENSION_MOVED":
      return commandOf("list", server);
    case "OUTCOME_UNKNOWN":
      return commandOf("tools", tool);
    case "KEY_REUSED":
      return "toolport call --help";
    default:
      return commandOf("doctor", server);
  }
}

const commandOf = (command: string, word: string | undefined): string =>
  `toolport ${command}${word === undefined ? "" : ` ${shellWord(word)}`}`;

/**
 * Quotes a word for a shell, so that users can copy the line. Invisible characters and line breaks become escapes in
 * `$'…'`, which bash, zsh and ksh support.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (plainLine(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = replaceHidden(word.replace(/[\\']/g, "\\$&"), escapeForShell);
  return `$'${escaped.replace(/[\n\t\u2028\u2029]/g, escapeForShell)}'`;
}

const escapeForShell = (character: string): string =>
  `\\U${character.codePointAt(0)!.toString(16).padStart(8, "0")}`;
