import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMON_OPTIONS, ENTRY_OPTIONS } from "../../packages/core/src/config/entry-options.js";
import { PORT_OPTIONS } from "../../packages/core/src/port/read-options.js";
import { root } from "../tree/source-files.js";

const page = readFileSync(join(root, "docs/options.md"), "utf8");

/** The part of the page under a heading: option and default of each row. */
function defaultsUnder(heading: string): Map<string, string> {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? "";
  const rows = section.matchAll(/^\| `(\w+)` \| (.*?) \| /gm);
  return new Map([...rows].map(([, key = "", cell = ""]) => [key, cell]));
}

const isPlain = (value: unknown): boolean =>
  ["boolean", "number", "string"].includes(typeof value) || (Array.isArray(value) && value.length === 0);

/** The defaults of a table that can be written as a value. */
const plainDefaults = (table: object): [string, unknown][] =>
  Object.entries(table).flatMap(([key, row]) => (isPlain(row.default) ? [[key, row.default]] : []));

const ownDefaults = (table: object) =>
  plainDefaults(table).filter(([key]) => !Object.hasOwn(COMMON_OPTIONS, key));

describe("docs/options.md", () => {
  it("is what `npm run docs:options` writes", async () => {
    const script = "../../scripts/options-page.mjs";
    const { optionsPage } = (await import(script)) as { optionsPage: () => string };
    expect(page).toBe(optionsPage());
  });

  it.each([
    ["Every server", plainDefaults(COMMON_OPTIONS)],
    ["Process", ownDefaults(ENTRY_OPTIONS.stdio)],
    ["Address", ownDefaults(ENTRY_OPTIONS.http)],
    ["Container", ownDefaults(ENTRY_OPTIONS.docker)],
    ["createToolport", plainDefaults(PORT_OPTIONS)],
  ])("%s: names the defaults that the readers use", (heading, defaults) => {
    const written = defaultsUnder(heading);
    expect(defaults.length).toBeGreaterThan(0);
    for (const [key, value] of defaults) {
      const text = typeof value === "number" ? value.toLocaleString("en-US") : `\`${JSON.stringify(value)}\``;
      expect([key, written.get(key)]).toEqual([key, text]);
    }
  });
});
