/** Every row of the fault tables in test/faults/README.md has a unique id and names existing tests. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const page = readFileSync("test/faults/README.md", "utf8");

interface Row {
  readonly id: string;
  readonly tests: readonly string[];
}

const readRows = (letter: string): Row[] =>
  [...page.matchAll(new RegExp(`^\\| (${letter}\\d\\d) \\|.*\\| ([^|]+) \\|$`, "gm"))].map(
    ([, id = "", tests = ""]) => ({
      id,
      tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
    }),
  );

describe.each([
  { title: "Faults from the field", letter: "F", atLeast: 33 },
  { title: "Suspended calls", letter: "S", atLeast: 21 },
  { title: "Faults of a gateway", letter: "G", atLeast: 31 },
])("$title", ({ letter, atLeast }) => {
  const rows = readRows(letter);

  test("ids are numbered without gaps", () => {
    expect(rows.map(({ id }) => id)).toEqual(
      Array.from({ length: rows.length }, (_, index) => `${letter}${String(index + 1).padStart(2, "0")}`),
    );
    expect(rows.length).toBeGreaterThanOrEqual(atLeast);
  });

  test("the tests exist", () => {
    expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
    expect(rows.flatMap(({ tests }) => tests).filter((path) => !existsSync(path))).toEqual([]);
  });
});

test("the tests of suspended calls name their row", () => {
  const missing = readRows("S").flatMap(({ id, tests }) =>
    tests
      .filter(
        (path) =>
          path.startsWith("test/suspend/fault-rows") && !readFileSync(path, "utf8").includes(`${id}:`),
      )
      .map((path) => `${id} in ${path}`),
  );
  expect(missing).toEqual([]);
});

test("the tests of gateways name their row", () => {
  const missing = readRows("G").flatMap(({ id, tests }) => {
    const isNamed = tests.some((path) => readFileSync(path, "utf8").includes(`"${id} `));
    return isNamed ? [] : [id];
  });
  expect(missing).toEqual([]);
});
