/** No row of the catalogue is without a test, and no test names a row that does not exist. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DUTIES, FAULTS } from "./catalogue.js";

const here = new URL(".", import.meta.url);
const named = new Set(
  readdirSync(here)
    .filter((file) => file.endsWith(".test.ts"))
    .flatMap(
      (file) => readFileSync(new URL(file, here), "utf8").match(/(?<=faultCase\(\s*")[A-Z]\d+(?=")/g) ?? [],
    ),
);

test.each([...Object.keys(FAULTS), ...Object.keys(DUTIES)])("%s has a test", (id) => {
  expect(named).toContain(id);
});

test("every id that a test names is in the catalogue", () => {
  expect([...named].filter((id) => !(id in FAULTS) && !(id in DUTIES))).toEqual([]);
});
