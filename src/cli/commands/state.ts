/** `toolport state`: what is saved, where, and how to look after it. */
import type { SealingStore } from "../../state/create-store.js";
import type { Store } from "../../state/store.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import type { OpenedStore, Shell } from "../shell.js";
import { listState } from "../state/list-state.js";
import { tidyState } from "../state/tidy-state.js";

export const run: CommandModule["run"] = async (invocation, shell) => {
  const [action = "ls", prefix = ""] = invocation.words;
  const opened = await shell.openStore();
  switch (action) {
    case "path":
      return showPath(opened, shell);
    case "gc":
      return tidy(opened, flagOption(invocation, "dry-run"), shell);
    case "migrate":
      return migrate(opened, shell);
    case "reseal":
      return reseal(opened, shell);
    default:
      return list(opened, prefix, shell);
  }
};

function showPath({ statePath }: OpenedStore, shell: Shell): number {
  if (shell.form === "json") shell.printJson({ path: statePath ?? null });
  else shell.print(statePath ?? needsFile("where it is"));
  return EXIT.ok;
}

async function list({ store, statePath }: OpenedStore, prefix: string, shell: Shell): Promise<number> {
  const { kinds, records } = await listState(store, prefix);
  if (shell.form === "json") {
    shell.printJson({ path: statePath ?? null, kinds, records });
    return EXIT.ok;
  }
  if (records.length === 0) shell.tell("Nothing is saved");
  else if (prefix !== "") {
    printRows(
      shell,
      ["key", "version", "sealed", ""],
      records.map(({ key, version, sealed, problem }) => [
        key,
        version ?? "",
        sealed ? "yes" : "no",
        problem,
      ]),
    );
  } else {
    printRows(
      shell,
      ["kind", "records", "what it is"],
      kinds.map(({ kind, count, meaning }) => [kind, count, meaning]),
    );
  }
  if (statePath !== undefined) shell.tell(statePath, "dim");
  return EXIT.ok;
}

async function tidy(opened: OpenedStore, isDryRun: boolean, shell: Shell): Promise<number> {
  const { removed, unreadable, freedBytes } = await tidyState(opened, { isDryRun });
  if (shell.form === "json") {
    shell.printJson({ isDryRun, removed, unreadable, freedBytes });
    return EXIT.ok;
  }
  for (const { key, why } of removed)
    shell.print(plainLine(`${isDryRun ? "would go" : "removed"}: ${key} (${why})`));
  for (const { key, why } of unreadable) shell.warn(`${key} cannot be read and was left alone: ${why}`);
  const space = isDryRun ? "" : `, ${freedBytes} bytes of the file were freed`;
  shell.tell(`${removed.length} records ${isDryRun ? "would be" : "were"} removed${space}`);
  return EXIT.ok;
}

/** Opening brings the tables up to date; a file of a newer Toolport is refused and not touched. */
async function migrate({ store, statePath }: OpenedStore, shell: Shell): Promise<number> {
  const count = (await store.list("")).length;
  if (shell.form === "json") shell.printJson({ path: statePath ?? null, isUpToDate: true, records: count });
  else shell.tell(`${statePath ?? "The state in memory"} is up to date, with ${count} records`, "green");
  return EXIT.ok;
}

async function reseal({ store }: OpenedStore, shell: Shell): Promise<number> {
  if (!canReseal(store)) throw needsFile("whose key can change");
  const count = await store.reseal();
  if (shell.form === "json") shell.printJson({ resealed: count });
  else shell.tell(`${count} secrets were sealed anew under the current key`, "green");
  return EXIT.ok;
}

const canReseal = (store: Store): store is SealingStore => "reseal" in store;

function needsFile(what: string): never {
  throw new CliError({
    code: "NO_STATE_FILE",
    message: `State is kept in memory: there is no file ${what}`,
    next: "toolport doctor",
  });
}
