/** The public API matches `test/tree/public-api/`, so that changed names and types show up in review. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeEntries } from "./public-api.js";
import { published } from "./source-files.js";

/** Maximum number of names of the root, and of all other entry points together. */
const MAX_NAMES = { root: 120, others: 300 };

const manifest = JSON.parse(readFileSync(join(published, "package.json"), "utf8"));
const entries = Object.fromEntries(
  Object.entries<{ import: { types: string } }>(manifest.exports)
    .filter(([entry]) => entry !== "./package.json")
    .map(([entry, { import: esm }]) => [entry.replace(/^\./, manifest.name), esm.types]),
);
const reports = describeEntries(entries);

it("matches the reviewed one; `npx vitest run --project slow test/tree/public-api -u` updates it", async () => {
  for (const { entry, lines } of reports) {
    const file = `./public-api/${entry.replaceAll("/", ".")}.txt`;
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(file);
  }
});

it("documents every name", () => {
  const undocumented = reports.flatMap(({ entry, undocumented }) =>
    undocumented.map((name) => `${name} of ${entry}`),
  );
  expect(undocumented).toEqual([]);
});

it(`has at most ${MAX_NAMES.root} names in the root and ${MAX_NAMES.others} in the other entry points`, () => {
  const count = (isRoot: boolean) =>
    reports
      .filter(({ entry }) => (entry === manifest.name) === isRoot)
      .reduce((sum, { names }) => sum + names.length, 0);
  expect(count(true)).toBeLessThanOrEqual(MAX_NAMES.root);
  expect(count(false)).toBeLessThanOrEqual(MAX_NAMES.others);
});
