/** Figures in the documentation that can be counted: they are true, or nearly where the page says "about". */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../packages/cli/src/commands.js";
import { BUDGETS } from "../tree/size-budgets.js";
import { filesBelow, root } from "../tree/source-files.js";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const countLines = (text: string) => text.split("\n").length - 1;
const linesBelow = (folder: string) =>
  filesBelow(join(root, folder), ".ts")
    .filter((file) => !file.endsWith(".test.ts"))
    .reduce((sum, file) => sum + countLines(read(`${folder}/${file}`)), 0);
const manifest = JSON.parse(read("packages/toolport/package.json"));

const EXACT: readonly [string, RegExp, number][] = [
  ["docs/decisions/command-line-parser.md", /`toolport` has (\d+) commands/, COMMANDS.filter(isShown).length],
  ["docs/decisions/one-package.md", /(\d+) run-time dependencies/, Object.keys(manifest.dependencies).length],
];

/** Sizes in lines grow and shrink a little with every change. */
const NEARLY: readonly [string, RegExp, number][] = [
  ["docs/decisions/http-client.md", /([\d,]+) lines in `network\/`/, linesBelow("packages/http/src")],
  [
    "docs/decisions/http-client.md",
    /(\d+) lines of ours \(`event-frames\.ts`\)/,
    countLines(read("packages/core/src/transports/http/event-frames.ts")),
  ],
  ["docs/decisions/json-file-store.md", /(\d+) lines, no dependency/, linesBelow("packages/stores/src/file")],
  [
    "docs/decisions/oauth.md",
    /([\d,]+) lines in `packages\/core\/src\/auth\/`/,
    linesBelow("packages/core/src/auth"),
  ],
];

function isShown({ name }: { name: string }): boolean {
  return !name.startsWith("__");
}

function figureIn(page: string, pattern: RegExp): number {
  const figure = pattern.exec(read(page))?.[1];
  if (figure === undefined) throw new Error(`${page} does not say ${pattern}`);
  return Number(figure.replace(",", ""));
}

test.each(EXACT)("%s: %s", (page, pattern, actual) => {
  expect(figureIn(page, pattern)).toBe(actual);
});

test.each(NEARLY)("%s: %s, within a tenth", (page, pattern, actual) => {
  expect(Math.abs(figureIn(page, pattern) / actual - 1), `${page} should say ${actual}`).toBeLessThan(0.1);
});

test("docs/performance.md has the limits on what loads at start", () => {
  const [esm, commonJs, commandLine] = BUDGETS;
  const section = read("docs/performance.md").split("\n## Budgets\n")[1]?.split("\n## ")[0] ?? "";
  const figures = [...section.replaceAll(/`[^`]*`/g, "").matchAll(/\d+/g)].map(Number);
  expect(figures).toEqual([...esm.slice(1), ...commonJs.slice(2), ...commandLine.slice(1)]);
});
