/** `toolport add`: puts a server into a file of our own, from a URL, a command, JSON or a registry. */
import { ConfigError } from "../../errors/config-error.js";
import { saveOwnConfig } from "../../node/save-own-config.js";
import type { Addition } from "../add/addition.js";
import { readPasted } from "../add/pasted-entries.js";
import { readFromRegistry } from "../add/registry-entry.js";
import { readTyped } from "../add/typed-entry.js";
import { checkServers, type ServerCheck } from "../check-servers.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption, type Invocation, textOption } from "../command.js";
import { ownFileFor } from "../config/own-files.js";
import { describeEntry } from "../config/shown-entry.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { indented } from "../plain-text.js";
import type { Shell } from "../shell.js";

export const run: CommandModule["run"] = async (invocation, shell) => {
  const additions = await readAdditions(invocation, shell);
  const file = await ownFileFor(invocation, shell);
  for (const addition of additions) await agree(addition, file, shell);
  await save(additions, file, flagOption(invocation, "replace"));
  const names = additions.map(({ name }) => name);
  // The user typed it, or agreed to it: that it stands in a project's file raises no new question.
  await shell.trustServers(names, file);
  if (shell.form !== "json") shell.tell(`Added ${names.join(", ")} to ${file}`, "green");
  const checks = flagOption(invocation, "no-check") ? [] : await checkServers(names, shell);
  if (shell.form === "json") {
    const added = additions.map(({ name, shown }) => ({ name, command: describeEntry(shown).command }));
    shell.printJson({ file, added, checks: checks.map(({ exitCode: _code, ...check }) => check) });
  } else for (const check of checks) tellCheck(check, shell);
  return Math.max(EXIT.ok, ...checks.map(({ exitCode }) => exitCode));
};

async function readAdditions(invocation: Invocation, shell: Shell): Promise<Addition[]> {
  const wanted = textOption(invocation, "from-registry");
  if (wanted !== undefined) return [await readFromRegistry(wanted, invocation, shell)];
  const [first, second] = invocation.words;
  const isJson = (word: string | undefined) => word?.trimStart().startsWith("{") === true;
  if (isJson(first)) return readPasted(first!, undefined, shell);
  if (isJson(second)) return readPasted(second!, first, shell);
  if (first === "-" || second === "-") {
    return readPasted(await shell.readAllInput(), first === "-" ? undefined : first, shell);
  }
  return [readTyped(invocation, shell)];
}

/** What somebody else wrote is shown whole before it is taken over. */
async function agree(
  { name, shown, needsConsent, warnings }: Addition,
  file: string,
  shell: Shell,
): Promise<void> {
  for (const warning of warnings) shell.warn(warning);
  if (!needsConsent) return;
  shell.tell([`${name}:`, ...indented(describeEntry(shown).text).split("\n")]);
  if (shell.agreesToAll || (await shell.confirm(`Add ${name} to ${file}?`))) return;
  throw new CliError({
    code: "NOT_AGREED",
    message: shell.isInteractive
      ? `${name} was not added`
      : `${name} was not added: somebody has to agree to what is shown above`,
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
      message: `${file} has a server ${JSON.stringify(name)} already. Say --replace to put the new one in its place`,
      next: `toolport add ${shellWord(name)} … --replace`,
    });
  }
}

function tellCheck({ name, state, tools, ms, error }: ServerCheck, shell: Shell): void {
  if (error === undefined) {
    shell.tell(`${name} is ${state}, with ${tools} tools (${ms} ms)`, "green");
    shell.tell(`Next: toolport tools ${shellWord(name)}`);
    return;
  }
  const isLogin = state === "authenticating" || error.code === "AUTH_REQUIRED";
  shell.tell(`${name} was added, but is ${state}: ${error.message}`, isLogin ? "yellow" : "red");
  shell.tell(`Next: toolport ${isLogin ? "auth" : "doctor"} ${shellWord(name)}`);
}
