/** Every row of "Faults from the field" in docs/reliability.md has a unique id and names existing tests. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/reliability.md", "utf8");
const rows = [...page.matchAll(/^\| (F\d\d) \|.*\| ([^|]+) \|$/gm)].map(([, id = "", tests = ""]) => ({
  id,
  tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
}));

test("ids are numbered without gaps", () => {
  expect(rows.map(({ id }) => id)).toEqual(
    Array.from({ length: rows.length }, (_, index) => `F${String(index + 1).padStart(2, "0")}`),
  );
  expect(rows.length).toBeGreaterThanOrEqual(33);
});

test("the tests exist", () => {
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(rows.flatMap(({ tests }) => tests).filter((path) => !existsSync(path))).toEqual([]);
});
