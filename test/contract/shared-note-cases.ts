/** Notes reach all replicas, on every store. */
import { expect } from "vitest";
import { createSharedNotes } from "../../packages/gateway/src/replicas/shared-notes.js";
import { waitFor } from "../support/wait-for.js";
import type { StoreCase } from "./store-subject.js";

const PREFIX = "serve/notes/";
const HOUR_MS = 3_600_000;

export const sharedNoteCases: readonly StoreCase[] = [
  {
    name: "a note is known here at once, and soon on other replicas",
    async run({ store, another }) {
      const [here, there] = [createSharedNotes(store, PREFIX), createSharedNotes(await another(), PREFIX)];
      await Promise.all([here.ready, there.ready]);
      const seen: unknown[] = [];
      there.onChange((key, note) => seen.push([key, note?.value]));
      const saved = here.set("a/∆", { level: "info" }, HOUR_MS);
      expect(here.get("a/∆")?.value).toEqual({ level: "info" });
      await saved;
      await waitFor(() => there.get("a/∆"), { label: "the note" });
      expect(there.get("a/∆")).toEqual(here.get("a/∆"));
      await there.delete("a/∆");
      expect(there.get("a/∆")).toBeUndefined();
      await waitFor(() => here.get("a/∆") === undefined, { label: "the deletion" });
      expect(seen).toEqual([
        ["a/∆", { level: "info" }],
        ["a/∆", undefined],
      ]);
      here.close();
      there.close();
    },
  },
  {
    name: "a replica that starts later knows all notes when it is ready",
    async run({ store, another }) {
      const here = createSharedNotes(store, PREFIX);
      const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`);
      await Promise.all(keys.map((key) => here.set(key, key, HOUR_MS)));
      await store.put("serve/other", 1);
      const later = createSharedNotes(await another(), PREFIX);
      await later.ready;
      expect([...later.entries()].map(([key]) => key).sort()).toEqual([...keys].sort());
      here.close();
      later.close();
    },
  },
  {
    name: "replicas that write the same key at once agree in the end",
    async run({ store, another }) {
      const all = [store, await another(), await another()].map((one) => createSharedNotes(one, PREFIX));
      for (let round = 0; round < 5; round++)
        await Promise.all(all.map((notes, index) => notes.set("key", `${round} ${index}`, HOUR_MS)));
      const last = (await store.get(`${PREFIX}key`))?.value as { value: string };
      expect(last.value).toMatch(/^4 /);
      await waitFor(() => all.every((notes) => notes.get("key")?.value === last.value), {
        label: "the same value everywhere",
      });
      for (const notes of all) notes.close();
    },
  },
  {
    name: "a record without the store's seal, or of another format, is no note",
    async run({ store, another }) {
      const other = await another();
      const notes = createSharedNotes(store, PREFIX);
      await notes.ready;
      await other.put(`${PREFIX}forged`, { value: true, until: Date.now() + HOUR_MS });
      await other.put(`${PREFIX}newer`, { v2: true }, { secret: true });
      await other.put(`${PREFIX}real`, { value: 1, until: Date.now() + HOUR_MS }, { secret: true });
      await waitFor(() => notes.get("real"), { label: "the real note" });
      expect([...notes.entries()].map(([key]) => key)).toEqual(["real"]);
      notes.close();
    },
  },
];
