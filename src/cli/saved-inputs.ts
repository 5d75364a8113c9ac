/** Keeps the answers to `inputs` of configuration files, sealed, so that the user is asked once. */
import { createHash } from "node:crypto";
import { isRecord } from "../config/entry-reader.js";
import type { WrittenServer } from "../node/read-servers.js";
import type { CommandContext } from "./command-context.js";

interface InputPlace {
  readonly file: string;
  readonly id: string;
}

type StoreContext = Pick<CommandContext, "openStore">;

/** The saved answer; undefined if there is none, or if it is not sealed. */
export async function readSavedInput(context: StoreContext, place: InputPlace): Promise<string | undefined> {
  const { store } = (await context.openStore().catch(() => undefined)) ?? {};
  // A record that cannot be opened, for example after a change of the key, is asked for again.
  const record = await store?.get(keyOf(place)).catch(() => undefined);
  if (record?.sealed !== true || !isRecord(record.value)) return undefined;
  const { file, id, value } = record.value;
  return file === place.file && id === place.id && typeof value === "string" ? value : undefined;
}

export async function saveInput(context: StoreContext, place: InputPlace, value: string): Promise<void> {
  const { store } = await context.openStore();
  await store.put(keyOf(place), { ...place, value }, { secret: true });
}

/** Deletes the answers that a server uses. Returns how many there were. */
export async function forgetInputs(
  context: StoreContext,
  { source, inputs }: Pick<WrittenServer, "source" | "inputs">,
): Promise<number> {
  const { store } = await context.openStore();
  const ids = inputs.flatMap((input) =>
    isRecord(input) && typeof input["id"] === "string" ? [input["id"]] : [],
  );
  let count = 0;
  for (const key of ids.map((id) => keyOf({ file: source.file, id }))) {
    if ((await store.get(key)) === undefined) continue;
    await store.delete(key);
    count += 1;
  }
  return count;
}

function keyOf({ file, id }: InputPlace): string {
  const folder = createHash("sha256").update(file).digest("hex").slice(0, 32);
  return `inputs/${folder}/${encodeURIComponent(id)}`;
}
