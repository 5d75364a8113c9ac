/** Lists the saved records without their values. */
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Store } from "../../state/store.js";

export interface SavedRecord {
  readonly key: string;
  readonly version: number | null;
  readonly sealed: boolean;
  /** Why the record cannot be read. */
  readonly problem?: string | undefined;
}

export interface SavedKind {
  readonly kind: string;
  readonly count: number;
  readonly meaning: string;
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

export async function listState(
  store: Store,
  prefix: string,
): Promise<{ records: SavedRecord[]; kinds: SavedKind[] }> {
  const records: SavedRecord[] = [];
  for (const key of await store.list(prefix)) {
    try {
      const record = await store.get(key);
      if (record !== undefined) records.push({ key, version: record.version, sealed: record.sealed });
    } catch (error) {
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
