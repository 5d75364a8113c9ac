/** Saved servers that change while they are read. */

import { memoryStore, type Store } from "@toolport/stores";
import { expect, test } from "vitest";
import { SavedServers } from "./saved-servers.js";

const KEY = "servers//web";
const entry = { url: "https://example.com/mcp" };

/** A store whose next write waits until it is released. */
function holdWrites(inner: Store) {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const store: Store = { ...inner, put: (...args) => held.then(() => inner.put(...args)) };
  return { store, release };
}

const open = (store: Store) => new SavedServers(store, undefined, () => {});

test("reports changes of other processes once, and no own changes", async () => {
  const store = memoryStore();
  const [here, there] = [open(store), open(store)];
  await here.save("web", entry);
  expect(await here.reread(KEY)).toEqual({ name: "web", kind: "same" });
  expect(await there.reread(KEY)).toMatchObject({ kind: "changed", config: entry });
  expect(await there.reread(KEY)).toMatchObject({ kind: "same" });
  await there.save("web", { ...entry, headers: { a: "b" } });
  expect(await here.reread(KEY)).toMatchObject({ kind: "changed" });
  await there.forget("web");
  expect(await there.reread(KEY)).toMatchObject({ kind: "same" });
  expect(await here.reread(KEY)).toMatchObject({ kind: "removed" });
  expect(await here.reread(KEY)).toMatchObject({ kind: "same" });
});

test("keeps a server that is saved again while the notice of its removal arrives", async () => {
  const inner = memoryStore();
  await open(inner).save("web", entry);
  const { store, release } = holdWrites(inner);
  const here = open(store);
  await here.restore();
  await here.forget("web");
  const late = here.reread(KEY);
  const saving = here.save("web", entry);
  const later = here.reread(KEY);
  release();
  await saving;
  expect(await late).toMatchObject({ kind: "same" });
  expect(await later).toMatchObject({ kind: "same" });
});

test("finds a change of another process that happens during an own write", async () => {
  const inner = memoryStore();
  const { store, release } = holdWrites(inner);
  const here = open(store);
  const saving = here.save("web", entry);
  const news = here.reread(KEY);
  release();
  await saving;
  expect(await news).toMatchObject({ kind: "same" });
  await open(inner).save("web", { url: "https://other.example.com/mcp" });
  expect(await here.reread(KEY)).toMatchObject({ kind: "changed" });
});
