/** `toolport import`: copies servers of other programs into one of Toolport's own files. */
import { saveOwnConfig } from "../../node/save-own-config.js";
import { CliError } from "../cli-error.js";
import { flagOption, type RunCommand, textsOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { describeEntry } from "../config/describe-entry.js";
import { findImports, type ImportCandidate } from "../config/find-imports.js";
import { ownFileFor } from "../config/own-files.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { indented, plural } from "../plain-text.js";
import { printRows } from "../print-rows.js";

export const importCommand: RunCommand = async (invocation, context) => {
  const target = await ownFileFor(invocation, context);
  const { candidates, files, notes } = await findImports(textsOption(invocation, "from"), context, target);
  const wanted = choose(candidates, invocation.words);
  const mayReplace = flagOption(invocation, "replace");
  const coming = wanted.filter(({ state }) => state === "new" || (state === "taken" && mayReplace));
  const isDryRun = flagOption(invocation, "dry-run");
  for (const note of notes) context.warn(note);
  if (context.form !== "json") reportFound(wanted, mayReplace, context);
  if (!isDryRun && coming.length > 0) {
    const chosen = textsOption(invocation, "from").flatMap((program) => ["--from", program]);
    const next = ["toolport import", ...[...invocation.words, ...chosen].map(shellWord), "--yes"].join(" ");
    await agree(coming, { target, next, context });
    const add = Object.fromEntries(coming.map(({ name, entry }) => [name, entry]));
    await saveOwnConfig(target, { add, replace: mayReplace });
  }
  if (context.form === "json") {
    const imported = coming.map(toRow);
    const left = wanted.filter((candidate) => !coming.includes(candidate)).map(toRow);
    context.printJson({ file: target, isDryRun, imported, left, files, notes });
  } else reportEnd({ found: wanted.length, coming, isDryRun, target }, context);
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

const STATES: Readonly<Record<ImportCandidate["state"], string>> = {
  new: "new",
  same: "already present",
  taken: "name taken (--replace)",
};

function reportFound(
  candidates: readonly ImportCandidate[],
  mayReplace: boolean,
  context: CommandContext,
): void {
  if (candidates.length === 0) return;
  const rows = candidates.map(({ name, kind, file, line, entry, state }) => [
    name,
    mayReplace && state === "taken" ? "replaced" : STATES[state],
    kind,
    describeEntry(entry).command,
    `${file}:${line}`,
  ]);
  printRows(context, ["SERVER", "STATE", "PROGRAM", "RUNS OR CALLS", "FROM"], rows);
}

/** Servers in the user's own file need no consent later. So ask here about those that start a program or come with a project. */
async function agree(
  coming: readonly ImportCandidate[],
  { target, next, context }: { target: string; next: string; context: CommandContext },
): Promise<void> {
  const asking = coming.filter(({ isForeign, entry }) => isForeign || describeEntry(entry).startsProcess);
  if (asking.length === 0 || context.agreesToAll) return;
  for (const { name, entry } of asking)
    context.info([`${name}:`, ...indented(describeEntry(entry).text).split("\n")]);
  if (await context.confirm(`Write ${plural(coming.length, "server")} to ${target}?`)) return;
  throw new CliError({
    code: "NOT_AGREED",
    message: "Nothing was imported: you have not agreed to these servers",
    next,
  });
}

function toRow({ name, kind, file, line, state, entry }: ImportCandidate) {
  return { name, program: kind, file, line, state, command: describeEntry(entry).command };
}

interface Outcome {
  readonly found: number;
  readonly coming: readonly ImportCandidate[];
  readonly isDryRun: boolean;
  readonly target: string;
}

function reportEnd({ found, coming, isDryRun, target }: Outcome, context: CommandContext): void {
  if (found === 0) context.info("No servers of other programs were found", "yellow");
  else if (coming.length === 0) context.info("There is nothing new to import");
  else if (isDryRun)
    context.info(`${plural(coming.length, "server")} would be written to ${target}. Nothing was changed`);
  else context.info(`Wrote ${plural(coming.length, "server")} to ${target}. Next: toolport doctor`, "green");
}
