/** Moves every secret of a store under its current key. */
import { readRecordText, readSealedText, writeRecordText } from "./record-text.js";
import type { Sealer } from "./sealing.js";
import type { BackendRecord, StoreBackend } from "./store-backend.js";

/** Answers how many records were rewritten. A record that changes meanwhile is looked at again, never overwritten. */
export async function resealRecords(backend: StoreBackend, sealer: Sealer): Promise<number> {
  let count = 0;
  for (const key of await backend.list("")) {
    let outcome = await resealRecord(key, { backend, sealer });
    while (outcome === "changed") outcome = await resealRecord(key, { backend, sealer });
    if (outcome === "resealed") count++;
  }
  return count;
}

async function resealRecord(
  key: string,
  { backend, sealer }: { backend: StoreBackend; sealer: Sealer },
): Promise<"resealed" | "fine" | "changed"> {
  const record = await backend.get(key);
  if (record === undefined || !(await isOutdated(record, sealer))) return "fine";
  const { value } = await readRecordText(key, record.text, sealer);
  const text = await writeRecordText({ key, value, secret: true }, sealer);
  const written = await backend.put(key, text, {
    ifVersion: record.version,
    ttlMs: record.ttlLeftMs,
    durable: true,
  });
  return written === undefined ? "changed" : "resealed";
}

async function isOutdated({ text }: BackendRecord, sealer: Sealer): Promise<boolean> {
  const sealed = readSealedText(text);
  return sealed !== undefined && !(await sealer.isCurrent(sealed));
}
