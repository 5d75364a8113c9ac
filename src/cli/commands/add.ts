/** `toolport add`: adds a server to one of Toolport's own files, from a URL, a command, JSON or a registry. */
import { ConfigError } from "../../errors/config-error.js";
import { saveOwnConfig } from "../../node/save-own-config.js";
import type { Addition } from "../add/addition.js";
import { readPasted } from "../add/pasted-entries.js";
import { readFromRegistry } from "../add/registry-entry.js";
import { readTyped } from "../add/typed-entry.js";
import { CliError } from "../cli-error.js";
import { flagOption, type Invocation, type RunCommand, textOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { describeEntry } from "../config/describe-entry.js";
import { ownFileFor } from "../config/own-files.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { errorDocument } from "../format-error.js";
import { shellWord } from "../next-command.js";
import { indented, plural } from "../plain-text.js";

export const addCommand: RunCommand = async (invocation, context) => {
  const additions = await readAdditions(invocation, context);
  const file = await ownFileFor(invocation, context);
  for (const addition of additions) await agree(addition, file, context);
  await save(additions, file, flagOption(invocation, "replace"));
  const names = additions.map(({ name }) => name);
  // The user typed the entry or agreed to it: ask no further question about the project file.
  await context.trustServers(names, file);
  if (context.form !== "json") context.info(`Added ${names.join(", ")} to ${file}`, "green");
  for (const note of additions.flatMap(({ notes = [] }) => notes)) context.info(note);
  const checks = flagOption(invocation, "no-check") ? [] : await checkServers(names, context);
  if (context.form === "json") {
    const added = additions.map(({ name, shown }) => ({ name, command: describeEntry(shown).command }));
    context.printJson({ file, added, checks: checks.map(({ exitCode: _code, ...check }) => check) });
  } else for (const check of checks) reportCheck(check, context);
  return Math.max(EXIT.ok, ...checks.map(({ exitCode }) => exitCode));
};

async function readAdditions(invocation: Invocation, context: CommandContext): Promise<Addition[]> {
  const wanted = textOption(invocation, "from-registry");
  if (wanted !== undefined) return [await readFromRegistry(wanted, invocation, context)];
  const [first, second] = invocation.words;
  const isJson = (word: string | undefined) => word?.trimStart().startsWith("{") === true;
  if (isJson(first)) return readPasted(first!, undefined, context);
  if (isJson(second)) return readPasted(second!, first, context);
  if (first === "-" || second === "-") {
    return readPasted(await context.readAllInput(), first === "-" ? undefined : first, context);
  }
  return [readTyped(invocation, context)];
}

/** Shows an entry that the user did not write, and asks before it is added. */
async function agree(
  { name, shown, needsConsent, warnings }: Addition,
  file: string,
  context: CommandContext,
): Promise<void> {
  for (const warning of warnings) context.warn(warning);
  if (!needsConsent) return;
  context.info([`${name}:`, ...indented(describeEntry(shown).text).split("\n")]);
  if (context.agreesToAll || (await context.confirm(`Add ${name} to ${file}?`))) return;
  throw new CliError({
    code: "NOT_AGREED",
    message: context.isInteractive
      ? `${name} was not added`
      : `${name} was not added: it needs your agreement to the entry shown above`,
    next: "toolport add … --yes",
  });
}

async function save(additions: readonly Addition[], file: string, replace: boolean): Promise<void> {
  const add = Object.fromEntries(additions.map(({ name, entry }) => [name, entry]));
  try {
    await saveOwnConfig(file, { add, replace });
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== "DUPLICATE_SERVER") throw error;
    const name = error.server ?? "";
    throw new CliError({
      code: "DUPLICATE_SERVER",
      exitCode: EXIT.configuration,
      message: `${file} already contains a server ${JSON.stringify(name)}. Use --replace to replace it`,
      next: `toolport add ${shellWord(name)} … --replace`,
    });
  }
}

function reportCheck({ name, state, tools, ms, error }: ServerCheck, context: CommandContext): void {
  if (error === undefined) {
    context.info(`${name} is ${state}, with ${plural(tools, "tool")} (${ms} ms)`, "green");
    context.info(`Next: toolport tools ${shellWord(name)}`);
    return;
  }
  const isLogin = state === "authenticating" || error.code === "AUTH_REQUIRED";
  if (isLogin) context.info(`${name} was added. It requires a login`, "yellow");
  else context.info(`${name} was added, but its state is ${state}: ${error.message}`, "red");
  context.info(
    isLogin
      ? `Next: toolport auth ${shellWord(name)} (opens the login page; --no-browser prints its URL)`
      : `Next: toolport doctor ${shellWord(name)}`,
  );
}

/** The outcome of connecting one server, as `--json` prints it. */
export interface ServerCheck {
  readonly name: string;
  readonly state: string;
  readonly tools: number;
  readonly ms: number;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly exitCode: number;
}

export async function checkServers(
  names: readonly string[],
  context: CommandContext,
): Promise<ServerCheck[]> {
  const progress = context.progress(`Connecting to ${names.join(", ")}`);
  try {
    const { toolport } = await context.openPort({ servers: names });
    const { servers } = await toolport.connect({
      servers: names,
      signal: context.signal,
      ...(context.timeoutMs !== undefined && { timeoutMs: context.timeoutMs }),
    });
    return Object.entries(servers).map(([name, { state, toolCount, ms, error }]) => ({
      name,
      state,
      tools: toolCount,
      ms: Math.round(ms),
      // The message of the command line: advice about API methods is left out.
      ...(error && { error: { code: error.code, message: errorDocument(error).message } }),
      exitCode: error === undefined ? 0 : exitCodeOf(error),
    }));
  } finally {
    progress.done();
  }
}
