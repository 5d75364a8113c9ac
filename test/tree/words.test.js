/** House rules a reader would notice first: how a file opens, how long it is, what it is called, what it must not say. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryFiles, root } from "./source-files.js";
const MAX_LINES = 350;
const CODE = /\.(ts|mts|mjs|js)$/;
const BINARY = /\.(png|jpg|gif|ico|woff2?|db|gz|wasm)$/;
/** Written in two halves, so that this file does not hold what it forbids. */
const MACHINE_PATHS = [
    ["/work", "/"].join(""),
    ["/root", "/"].join(""),
    // Where this very checkout and its owner live, unless that is too short to be telling.
    ...[root, homedir()].filter((path) => path.split("/").length > 2).map((path) => `${path}/`),
];
const VAGUE_NAMES = new Set(["types", "utils", "helpers", "common", "misc"]);
const files = repositoryFiles();
const read = (file) => readFileSync(join(root, file), "utf8");
const ours = files.filter((file) => /^(src|test|scripts|bench|examples)\//.test(file) && CODE.test(file));
describe("files", () => {
    it("in src open with one sentence that says what they are for", () => {
        const sources = ours.filter((file) => file.startsWith("src/") && !file.endsWith(".test.ts"));
        const silent = sources.filter((file) => !/^(#![^\n]*\n)?\/\*\*/.test(read(file)));
        expect(silent).toEqual([]);
    });
    it(`are at most ${MAX_LINES} lines long`, () => {
        const long = ours
            .map((file) => ({ file, lines: read(file).trimEnd().split("\n").length }))
            .filter(({ lines }) => lines > MAX_LINES);
        expect(long.map(({ file, lines }) => `${file}: ${lines} lines`)).toEqual([]);
    });
    it("have kebab-case names that say something", () => {
        const odd = ours.filter((file) => {
            const name = basename(file).split(".")[0] ?? "";
            return VAGUE_NAMES.has(name) || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
        });
        expect(odd).toEqual([]);
    });
    it("hold no path of the machine they were written on", () => {
        const telling = files
            .filter((file) => !BINARY.test(file))
            .flatMap((file) => {
            const text = read(file);
            return MACHINE_PATHS.filter((path) => text.includes(path)).map((path) => `${file}: ${path}`);
        });
        expect(telling).toEqual([]);
    });
});
