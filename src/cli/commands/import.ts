/** `toolport import`: copies servers of other programs into a file of our own. */
import { saveOwnConfig } from "../../node/save-own-config.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption, textsOption } from "../command.js";
import { findImports, type ImportCandidate } from "../config/find-imports.js";
import { ownFileFor } from "../config/own-files.js";
import { describeEntry } from "../config/shown-entry.js";
import { EXIT } from "../exit-codes.js";
import { indented } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import type { Shell } from "../shell.js";

export const run: CommandModule["run"] = async (invocation, shell) => {
  const target = await ownFileFor(invocation, shell);
  const { candidates, files, notes } = await findImports(textsOption(invocation, "from"), shell, target);
  const wanted = choose(candidates, invocation.words);
  const mayReplace = flagOption(invocation, "replace");
  const coming = wanted.filter(({ fate }) => fate === "new" || (fate === "taken" && mayReplace));
  const isDryRun = flagOption(invocation, "dry-run");
  for (const note of notes) shell.warn(note);
  if (shell.form !== "json") tellFound(wanted, mayReplace, shell);
  if (!isDryRun && coming.length > 0) {
    await agree(coming, target, shell);
    const add = Object.fromEntries(coming.map(({ name, entry }) => [name, entry]));
    await saveOwnConfig(target, { add, replace: mayReplace });
  }
  if (shell.form === "json") {
    const imported = coming.map(toRow);
    const left = wanted.filter((candidate) => !coming.includes(candidate)).map(toRow);
    shell.printJson({ file: target, isDryRun, imported, left, files, notes });
  } else tellEnd({ found: wanted.length, coming, isDryRun, target }, shell);
  return EXIT.ok;
};

function choose(candidates: readonly ImportCandidate[], names: readonly string[]): ImportCandidate[] {
  for (const name of names) {
    if (candidates.some((candidate) => candidate.name === name)) continue;
    throw new CliError({
      code: "UNKNOWN_SERVER",
      exitCode: EXIT.configuration,
      message: `No other program has a server ${JSON.stringify(name)}`,
      next: "toolport import --dry-run",
    });
  }
  return names.length === 0 ? [...candidates] : candidates.filter(({ name }) => names.includes(name));
}

const FATES: Readonly<Record<ImportCandidate["fate"], string>> = {
  new: "new",
  same: "there already",
  taken: "name is taken (--replace)",
};

function tellFound(candidates: readonly ImportCandidate[], mayReplace: boolean, shell: Shell): void {
  if (candidates.length === 0) return;
  const rows = candidates.map(({ name, kind, file, line, entry, fate }) => [
    name,
    mayReplace && fate === "taken" ? "replaced" : FATES[fate],
    kind,
    describeEntry(entry).command,
    `${file}:${line}`,
  ]);
  printRows(shell, ["server", "fate", "program", "runs or calls", "from"], rows);
}

/** No question is asked about servers of the user's own file: one that starts a program or comes with a project is shown first. */
async function agree(coming: readonly ImportCandidate[], target: string, shell: Shell): Promise<void> {
  const asking = coming.filter(({ isForeign, entry }) => isForeign || describeEntry(entry).startsProcess);
  if (asking.length === 0 || shell.agreesToAll) return;
  for (const { name, entry } of asking)
    shell.tell([`${name}:`, ...indented(describeEntry(entry).text).split("\n")]);
  if (await shell.confirm(`Write ${coming.length} servers to ${target}?`)) return;
  throw new CliError({
    code: "NOT_AGREED",
    message: "Nothing was imported: you have not agreed to what these servers start or call",
    next: "toolport import --yes",
  });
}

function toRow({ name, kind, file, line, fate, entry }: ImportCandidate) {
  return { name, program: kind, file, line, fate, command: describeEntry(entry).command };
}

interface Outcome {
  readonly found: number;
  readonly coming: readonly ImportCandidate[];
  readonly isDryRun: boolean;
  readonly target: string;
}

function tellEnd({ found, coming, isDryRun, target }: Outcome, shell: Shell): void {
  if (found === 0) shell.tell("No servers of other programs were found", "yellow");
  else if (coming.length === 0) shell.tell("There is nothing new to import");
  else if (isDryRun)
    shell.tell(`${coming.length} servers would be written to ${target}. Nothing was changed`);
  else shell.tell(`Wrote ${coming.length} servers to ${target}. Next: toolport doctor`, "green");
}
