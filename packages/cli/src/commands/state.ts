/** `toolport state`: lists, cleans up, migrates and re-encrypts the saved state. */

import { stat } from "node:fs/promises";
import { isRecord, toToolportError } from "@toolport/base";
import { checkWritten, effectiveServers, readConfig } from "@toolport/config/internal";
import type { SealingStore, Store } from "@toolport/stores";
import type { CommandContext, CommandSpec, OpenedStore, RunCommand } from "../command.js";
import { flag } from "../command-options.js";
import { CliError } from "../errors.js";
import { plainLine } from "../plain-text.js";

export const stateCommand: CommandSpec = {
  name: "state",
  summary: "Show and maintain the saved state",
  group: "program",
  positionals: [
    {
      name: "action",
      summary: "ls (list), gc (delete unused records), migrate, reseal (after a key change), path",
      optional: true,
      choices: ["ls", "gc", "migrate", "reseal", "path"],
    },
    { name: "prefix", summary: "With ls: only keys with this prefix", optional: true },
  ],
  options: { "dry-run": flag("With gc: only show what would be deleted") },
  examples: [
    ["toolport state", "the saved records, by kind"],
    ["toolport state gc --dry-run", "the records that are no longer used"],
  ],
  load: async () => (await import("./state.js")).runState,
};

export const runState: RunCommand = async (context) => {
  const [action = "ls"] = context.words;
  const opened = await context.openStore();
  const actions = { path: showPath, gc: tidy, migrate, reseal, ls: list };
  return actions[action as keyof typeof actions](opened, context);
};

function showPath({ statePath }: OpenedStore, context: CommandContext): undefined {
  if (context.form === "json") context.printJson({ path: statePath ?? null });
  else context.print(statePath ?? failWithoutFile("it has no path"));
}

async function list({ store, statePath }: OpenedStore, context: CommandContext): Promise<undefined> {
  const [, prefix = ""] = context.words;
  const { kinds, records } = await listState(store, prefix);
  if (context.form === "json") return context.printJson({ path: statePath ?? null, kinds, records });
  if (records.length === 0) context.info("There are no saved records");
  else if (prefix !== "") {
    context.printRows(
      ["KEY", "VERSION", "ENCRYPTED", ""],
      records.map(({ key, version, sealed, problem }) => [key, version, sealed ? "yes" : "no", problem]),
    );
  } else {
    context.printRows(
      ["KIND", "RECORDS", "WHAT IT IS"],
      kinds.map(({ kind, count, meaning }) => [kind, count, meaning]),
    );
  }
  if (statePath !== undefined) context.info(statePath, "dim");
}

async function tidy(opened: OpenedStore, context: CommandContext): Promise<undefined> {
  const isDryRun = context.flag("dry-run");
  const { removed, unreadable, freedBytes } = await tidyState(opened, isDryRun);
  if (context.form === "json") return context.printJson({ isDryRun, removed, unreadable, freedBytes });
  for (const { key, why } of removed)
    context.print(plainLine(`${isDryRun ? "would be removed" : "removed"}: ${key} (${why})`));
  for (const { key, why } of unreadable) context.warn(`${key} cannot be read and was kept: ${why}`);
  const space = isDryRun ? "" : `, ${freedBytes} bytes were freed`;
  context.info(`${removed.length} records ${isDryRun ? "would be" : "were"} removed${space}`);
}

/** Opening the store migrates its tables. A file of a newer Toolport is rejected and not changed. */
async function migrate({ store, statePath }: OpenedStore, context: CommandContext): Promise<undefined> {
  const count = (await store.list("")).length;
  if (context.form === "json")
    context.printJson({ path: statePath ?? null, isUpToDate: true, records: count });
  else context.info(`${statePath ?? "The state in memory"} is up to date, with ${count} records`, "green");
}

async function reseal({ store }: OpenedStore, context: CommandContext): Promise<undefined> {
  if (!canReseal(store)) failWithoutFile("it has no key");
  const count = await store.reseal();
  if (context.form === "json") context.printJson({ resealed: count });
  else context.info(`${count} secrets were re-encrypted with the current key`, "green");
}

const canReseal = (store: Store): store is SealingStore => "reseal" in store;

function failWithoutFile(why: string): never {
  throw new CliError(`State is in memory: ${why}`, "toolport doctor", { code: "NO_STATE_FILE" });
}

/** Descriptions by the first segment of a key. */
const MEANINGS: Readonly<Record<string, string>> = {
  catalog: "lists of tools, resources and prompts",
  era: "protocol revision of each server",
  oauth: "logins, tokens and registrations",
  pins: "hashes of tool definitions",
  registry: "cached responses of registries",
  servers: "servers added at run time",
  suspended: "calls that wait for a person, and outcomes of calls with a key",
  tasks: "running tasks",
  trust: "servers you agreed to",
};

async function listState(store: Store, prefix: string) {
  const records = [];
  for (const key of await store.list(prefix)) {
    try {
      const record = await store.get(key);
      if (record !== undefined)
        records.push({ key, version: record.version, sealed: record.sealed, problem: undefined });
    } catch (error) {
      // The record cannot be read.
      records.push({ key, version: null, sealed: true, problem: toToolportError(error).what });
    }
  }
  const counts = new Map<string, number>();
  for (const { key } of records) {
    const kind = key.split("/", 1)[0]!;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const kinds = [...counts].map(([kind, count]) => ({ kind, count, meaning: MEANINGS[kind] ?? "" }));
  return { records, kinds };
}

/** Records whose key may become available again are kept as `unreadable`. */
async function tidyState({ store, statePath, compact }: OpenedStore, isDryRun: boolean) {
  const before = await sizeOf(statePath);
  const removed: { key: string; why: string }[] = [];
  const unreadable: { key: string; why: string }[] = [];
  for (const key of await store.list("")) {
    try {
      const why = await reasonToDelete(key, store);
      if (why === undefined) continue;
      removed.push({ key, why });
      if (!isDryRun) await store.delete(key);
    } catch (error) {
      unreadable.push({ key, why: toToolportError(error).what });
    }
  }
  if (isDryRun) return { removed, unreadable, freedBytes: 0 };
  await compact();
  return { removed, unreadable, freedBytes: Math.max(0, before - (await sizeOf(statePath))) };
}

/** Why a record is unused; undefined if it may be in use. Records with a time limit expire without this. */
async function reasonToDelete(key: string, store: Store): Promise<string | undefined> {
  if (key.startsWith("doctor/")) return "left over from a check";
  const record = await store.get(key);
  if (record === undefined || !key.startsWith("trust/") || !isRecord(record.value)) return undefined;
  const { file, name } = record.value;
  if (typeof file !== "string" || typeof name !== "string") return undefined;
  if ((await stat(file).catch(() => undefined)) === undefined) return "the file no longer exists";
  const config = await readConfig(file, {});
  const servers = effectiveServers(config);
  // A file with issues may contain the server in a part that could not be read.
  const isSound =
    config.issues.length === 0 &&
    config.found.every(({ issues }) => issues.length === 0) &&
    [...servers.values()].every((server) => checkWritten(server).issues.length === 0);
  return isSound && !servers.has(name) ? "the file no longer contains the server" : undefined;
}

const sizeOf = async (path = ""): Promise<number> => (await stat(path).catch(() => undefined))?.size ?? 0;
