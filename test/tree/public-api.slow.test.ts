/** The public API matches `test/tree/public-api/`, so that changed names and types show up in review. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeEntries } from "./public-api.js";
import { root } from "./source-files.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.fromEntries(
  Object.entries<{ import: { types: string } }>(manifest.exports)
    .filter(([entry]) => entry !== "./package.json")
    .map(([entry, { import: esm }]) => [entry.replace(/^\./, manifest.name), esm.types]),
);

it("matches the reviewed one; `npx vitest run test/tree/public-api.slow.test.ts -u` updates it", async () => {
  for (const { entry, lines } of describeEntries(entries)) {
    const file = `./public-api/${entry.replaceAll("/", ".")}.txt`;
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(file);
  }
});
