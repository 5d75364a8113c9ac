/** Drawings of the guides: accessible, self-contained, and used. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readDocumentation, root } from "./markdown.js";

const folder = join(root, "docs/images");
const drawings = readdirSync(folder).filter((name) => name.endsWith(".svg"));

test.each(drawings)("%s has a title and a description, and loads nothing", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  expect(text).toContain('role="img" aria-labelledby="title desc"');
  expect(text).toMatch(/<title id="title">[^<]+<\/title>/);
  expect(text).toMatch(/<desc id="desc">[^<]+<\/desc>/);
  // GitHub serves drawings with a policy that blocks scripts, fonts and other files.
  expect(text.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(
    /<script|href=|https?:|@import|@font-face/,
  );
});

test("every picture is in a guide", () => {
  const linked = readDocumentation().flatMap(({ lines }) =>
    [...lines.join("\n").matchAll(/images\/([\w-]+\.\w+)/g)].map(([, name = ""]) => name),
  );
  expect(readdirSync(folder).filter((name) => !linked.includes(name))).toEqual([]);
});
