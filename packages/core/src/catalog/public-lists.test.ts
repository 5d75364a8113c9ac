import { expect, test } from "vitest";
import type { ServerConfig } from "../config/server-config.js";
import { PublicLists } from "./public-lists.js";

const CONFIG = { kind: "http", name: "one", url: new URL("http://one.test/mcp") } as unknown as ServerConfig;

const list = () => ({ items: [1], readAt: Date.now(), ttlMs: 60_000, keepMs: 60_000, isPublic: true });

test("how long clients may keep a list is known in the process that read it, and is not saved", () => {
  const lists = new PublicLists();
  lists.keep(CONFIG, "tools", list());
  expect(lists.fresh(CONFIG, "tools", true)).toMatchObject({ items: [1], keepMs: 60_000 });
  const saved = lists.all(CONFIG);
  expect(Object.keys(saved.tools ?? {})).toEqual(["items", "readAt", "ttlMs"]);
  const others = new PublicLists();
  others.restore(CONFIG, { tools: list() });
  expect(others.fresh(CONFIG, "tools", true)).toMatchObject({ items: [1] });
  expect(others.fresh(CONFIG, "tools", true)).not.toHaveProperty("keepMs");
});

test("a list that was requested before a later one, or before a change, is not shared", () => {
  const lists = new PublicLists();
  const now = Date.now();
  lists.keep(CONFIG, "tools", { ...list(), items: ["new"], readAt: now - 10 });
  lists.keep(CONFIG, "tools", { ...list(), items: ["old"], readAt: now - 20 });
  expect(lists.fresh(CONFIG, "tools", true)).toMatchObject({ items: ["new"] });
  lists.changed(CONFIG, "tools");
  lists.keep(CONFIG, "tools", { ...list(), items: ["old"], readAt: now - 5 });
  expect(lists.fresh(CONFIG, "tools", true)).toBeUndefined();
  lists.keep(CONFIG, "tools", { ...list(), items: ["newest"] });
  expect(lists.fresh(CONFIG, "tools", true)).toMatchObject({ items: ["newest"] });
});
