/** The core does not refer to a gateway: no import, identifier or comment does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryFiles, root } from "./source-files.js";

// The lookarounds let "boolean" and "clean" pass.
const REFERENCES = /gateway|relay/i;
const OLD_NAMES = /(?<![a-zA-Z])[lL]ean|[a-z]Lean(?![a-z])/;
const IMPORT = /@toolport\/gateway/;

it("refers to no gateway", () => {
  const found = repositoryFiles()
    .filter((file) => /^packages\/(base|http|schemas|stores|core)\/src\//.test(file))
    .flatMap((file) =>
      readFileSync(join(root, file), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          [REFERENCES, OLD_NAMES, IMPORT].flatMap((pattern) => {
            const word = pattern.exec(line)?.[0];
            return word === undefined ? [] : [`${file}:${index + 1} ${word}`];
          }),
        ),
    );
  expect(found).toEqual([]);
});
