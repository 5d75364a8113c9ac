import { expect, test } from "vitest";
import { IdTable } from "./id-table.js";

interface Request {
  readonly id: string;
}

const open = (table: IdTable<Request>): string => {
  const id = table.nextId();
  table.put({ id });
  return id;
};

test("ids are given out in order, and each finds whoever has it", () => {
  const table = new IdTable<Request>("own-");
  expect([open(table), open(table)]).toEqual(["own-1", "own-2"]);
  expect(table.size).toBe(2);
  expect(table.get("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toBeUndefined();
  expect(table.toArray()).toEqual([{ id: "own-1" }]);
});

test("an id that was never given out finds nobody", () => {
  const table = new IdTable<Request>("own-");
  open(table);
  // 65 and 1 share a place; the others are no numbers, or not the text that was given out.
  for (const id of ["own-65", "own-01", "own-", "own-x", "own-1.0", "other", "", "own-1e0", "own--63"])
    expect(table.get(id), id).toBeUndefined();
  expect(table.take("own-65")).toBeUndefined();
  expect(table.size).toBe(1);
});

test("whoever stays keeps the place while thousands come and go", () => {
  const table = new IdTable<Request>("own-");
  const stays = open(table);
  const seen = new Set<string>();
  for (let round = 0; round < 5_000; round += 1) {
    const id = open(table);
    seen.add(id);
    expect(table.take(id)?.id).toBe(id);
  }
  expect(seen.size).toBe(5_000);
  expect(table.take(stays)?.id).toBe(stays);
});

test("it grows with a rush, and nobody is lost on the way up or down", () => {
  const table = new IdTable<Request>("own-");
  const ids = Array.from({ length: 10_000 }, () => open(table));
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(table.get(id)?.id).toBe(id);
  for (const id of ids.reverse()) expect(table.take(id)?.id).toBe(id);
  expect(table.size).toBe(0);
  const late = open(table);
  expect(ids).not.toContain(late);
  expect(table.get(late)?.id).toBe(late);
});
