/** `toolport state`: lists, cleans up, migrates and re-encrypts the saved state. */
import type { SealingStore } from "../../state/create-store.js";
import type { Store } from "../../state/store.js";
import { CliError } from "../cli-error.js";
import { flagOption, type RunCommand } from "../command.js";
import type { CommandContext, OpenedStore } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import { listState } from "../state/list-state.js";
import { tidyState } from "../state/tidy-state.js";

export const stateCommand: RunCommand = async (invocation, context) => {
  const [action = "ls", prefix = ""] = invocation.words;
  const opened = await context.openStore();
  switch (action) {
    case "path":
      return showPath(opened, context);
    case "gc":
      return tidy(opened, flagOption(invocation, "dry-run"), context);
    case "migrate":
      return migrate(opened, context);
    case "reseal":
      return reseal(opened, context);
    default:
      return list(opened, prefix, context);
  }
};

function showPath({ statePath }: OpenedStore, context: CommandContext): number {
  if (context.form === "json") context.printJson({ path: statePath ?? null });
  else context.print(statePath ?? failWithoutFile("it has no path"));
  return EXIT.ok;
}

async function list(
  { store, statePath }: OpenedStore,
  prefix: string,
  context: CommandContext,
): Promise<number> {
  const { kinds, records } = await listState(store, prefix);
  if (context.form === "json") {
    context.printJson({ path: statePath ?? null, kinds, records });
    return EXIT.ok;
  }
  if (records.length === 0) context.info("There are no saved records");
  else if (prefix !== "") {
    printRows(
      context,
      ["KEY", "VERSION", "ENCRYPTED", ""],
      records.map(({ key, version, sealed, problem }) => [
        key,
        version ?? "",
        sealed ? "yes" : "no",
        problem,
      ]),
    );
  } else {
    printRows(
      context,
      ["KIND", "RECORDS", "WHAT IT IS"],
      kinds.map(({ kind, count, meaning }) => [kind, count, meaning]),
    );
  }
  if (statePath !== undefined) context.info(statePath, "dim");
  return EXIT.ok;
}

async function tidy(opened: OpenedStore, isDryRun: boolean, context: CommandContext): Promise<number> {
  const { removed, unreadable, freedBytes } = await tidyState(opened, { isDryRun });
  if (context.form === "json") {
    context.printJson({ isDryRun, removed, unreadable, freedBytes });
    return EXIT.ok;
  }
  for (const { key, why } of removed)
    context.print(plainLine(`${isDryRun ? "would be removed" : "removed"}: ${key} (${why})`));
  for (const { key, why } of unreadable) context.warn(`${key} cannot be read and was kept: ${why}`);
  const space = isDryRun ? "" : `, ${freedBytes} bytes were freed`;
  context.info(`${removed.length} records ${isDryRun ? "would be" : "were"} removed${space}`);
  return EXIT.ok;
}

/** Opening the store migrates its tables. A file of a newer Toolport is rejected and not changed. */
async function migrate({ store, statePath }: OpenedStore, context: CommandContext): Promise<number> {
  const count = (await store.list("")).length;
  if (context.form === "json")
    context.printJson({ path: statePath ?? null, isUpToDate: true, records: count });
  else context.info(`${statePath ?? "The state in memory"} is up to date, with ${count} records`, "green");
  return EXIT.ok;
}

async function reseal({ store }: OpenedStore, context: CommandContext): Promise<number> {
  if (!canReseal(store)) failWithoutFile("it has no key");
  const count = await store.reseal();
  if (context.form === "json") context.printJson({ resealed: count });
  else context.info(`${count} secrets were re-encrypted with the current key`, "green");
  return EXIT.ok;
}

const canReseal = (store: Store): store is SealingStore => "reseal" in store;

function failWithoutFile(why: string): never {
  throw new CliError({
    code: "NO_STATE_FILE",
    message: `State is in memory: ${why}`,
    next: "toolport doctor",
  });
}
