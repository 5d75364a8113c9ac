/** What lies in the store: keys, versions and sizes. Values stay where they are. */
import type { Store } from "../state/store.js";
import { hideCredentials } from "../util/redact-text.js";
import type { RecordsView } from "./console-api.js";

const MAX_RECORDS = 500;

export async function listRecords(store: Store): Promise<RecordsView> {
  const keys = await store.list("");
  const records = await Promise.all(
    keys.slice(0, MAX_RECORDS).map(async (key) => {
      const record = await store.get(key).catch(() => undefined);
      return {
        key: hideCredentials(key),
        version: record?.version ?? 0,
        sealed: record?.sealed ?? true,
        bytes: JSON.stringify(record?.value ?? null).length,
      };
    }),
  );
  return { records, total: keys.length };
}
