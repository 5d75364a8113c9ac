/** Deletes unused records and compacts the state file. */
import { stat } from "node:fs/promises";
import { isRecord } from "../../config/entry-reader.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { checkWritten } from "../../node/expand-server.js";
import { effectiveServers, readConfig } from "../../node/load-config.js";
import type { Store } from "../../state/store.js";
import type { OpenedStore } from "../command-context.js";

interface Named {
  readonly key: string;
  readonly why: string;
}

export interface TidyOutcome {
  readonly removed: readonly Named[];
  /** Kept, because their encryption key may become available again. */
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
