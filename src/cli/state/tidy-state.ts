/** Removes what is of no use any more, and gives the space back. */
import { stat } from "node:fs/promises";
import { isRecord } from "../../config/entry-reader.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { checkWritten } from "../../node/expand-server.js";
import { readConfig, winnersOf } from "../../node/load-config.js";
import type { Store } from "../../state/store.js";
import type { OpenedStore } from "../shell.js";

interface Named {
  readonly key: string;
  readonly why: string;
}

export interface TidyOutcome {
  readonly removed: readonly Named[];
  /** Left alone: the key they are sealed with may come back. */
  readonly unreadable: readonly Named[];
  readonly freedBytes: number;
}

export async function tidyState(
  { store, statePath, compact }: OpenedStore,
  { isDryRun }: { isDryRun: boolean },
): Promise<TidyOutcome> {
  const before = await sizeOf(statePath);
  const removed: Named[] = [];
  const unreadable: Named[] = [];
  for (const key of await store.list("")) {
    try {
      const why = await uselessness(key, store);
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

/** Why a record is of no use. Records with an end of their own go by themselves. */
async function uselessness(key: string, store: Store): Promise<string | undefined> {
  if (key.startsWith("doctor/")) return "a check left it behind";
  const record = await store.get(key);
  if (record === undefined || !key.startsWith("trust/") || !isRecord(record.value)) return undefined;
  const { file, name } = record.value;
  if (typeof file !== "string" || typeof name !== "string") return undefined;
  if ((await stat(file).catch(() => undefined)) === undefined) return "the file is gone";
  const config = await readConfig(file, {});
  const servers = winnersOf(config);
  // A file with faults may name the server in a place that could not be read.
  const isSound =
    config.issues.length === 0 &&
    config.found.every(({ issues }) => issues.length === 0) &&
    [...servers.values()].every((server) => checkWritten(server).issues.length === 0);
  return isSound && !servers.has(name) ? "the file no longer has the server" : undefined;
}

const sizeOf = async (path = ""): Promise<number> => (await stat(path).catch(() => undefined))?.size ?? 0;
