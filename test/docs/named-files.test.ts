/** Files of the repository that the documentation names exist. */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { repositoryFiles, root } from "../tree/source-files.js";

const PAGES = /^(docs\/.*|bench\/README|test\/faults\/README|README|CONTRIBUTING|REVIEW|SECURITY)\.md$/;
/** Pages about the repository itself: a file name without a folder is a name of ours there. */
const INTERNAL_PAGES =
  /^(docs\/decisions\/.*|docs\/(architecture|performance)|bench\/README|CONTRIBUTING|REVIEW)\.md$/;
const PATH = /(?<![\w./~-])(?:packages|src|test|scripts|bench|examples)\/[\w./-]*\w/g;
const FILE_NAME = /^[\w-]+(\.[\w-]+)*\.(ts|mts|mjs|cjs)$/;
/** Files of the reader. */
const OF_THE_READER = new Set(["src/tools.ts"]);

const files = repositoryFiles();
const pages = files.filter((file) => PAGES.test(file));
const existing = new Set(files.flatMap((file) => [file, ...parentsOf(file)]));
const fileNames = new Set(files.map((file) => posix.basename(file)));

function parentsOf(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
}

/** Inline code of a page, with its line. */
function inlineCode(page: string): { code: string; place: string }[] {
  return readFileSync(join(root, page), "utf8")
    .split("\n")
    .flatMap((line, index) =>
      [...line.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => ({ code, place: `${page}:${index + 1}` })),
    );
}

/** Paths with a placeholder (`<kind>`, `*`) are left out. */
const pathsIn = (code: string): string[] => (/[<*{…]/.test(code) ? [] : [...(code.match(PATH) ?? [])]);

test("finds pages and paths", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "CONTRIBUTING.md", "docs/testing.md"]));
  expect(pathsIn("npx vitest run test/tree/words.test.ts -u")).toEqual(["test/tree/words.test.ts"]);
  expect(inlineCode("CONTRIBUTING.md").flatMap(({ code }) => pathsIn(code)).length).toBeGreaterThan(10);
});

test.each(files.filter((file) => /^packages\/[^/]+\/(README|PACKAGE)\.md$/.test(file)))(
  "%s names only sources of its package that exist",
  (page) => {
    const folder = posix.dirname(page);
    const missing = inlineCode(page)
      .flatMap(({ code }) => (/[<*{…]/.test(code) ? [] : [...code.matchAll(/(?<![\w./~-])src\/[\w./-]*\w/g)]))
      .filter(([path]) => !existing.has(`${folder}/${path}`));
    expect(missing.map(([path]) => path)).toEqual([]);
  },
);

test.each(pages)("%s names only files that exist", (page) => {
  const missing = inlineCode(page).flatMap(({ code, place }) => {
    const paths = pathsIn(code).filter((path) => !existing.has(path) && !OF_THE_READER.has(path));
    const isUnknownName = INTERNAL_PAGES.test(page) && FILE_NAME.test(code) && !fileNames.has(code);
    return [...paths, ...(isUnknownName ? [code] : [])].map((name) => `${place} ${name}`);
  });
  expect(missing).toEqual([]);
});
