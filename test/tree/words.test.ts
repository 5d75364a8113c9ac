/** Checks how a file opens, how long it is, how it is named, and which words it must not contain. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryFiles, root } from "./source-files.js";

const MAX_LINES = 700;
const CODE = /\.(ts|mts|mjs|js)$/;
const BINARY = /\.(png|jpg|gif|ico|woff2?|db|gz|wasm)$/;
/** Written in two halves, so that this file does not contain what it forbids. */
const MACHINE_PATHS = [
  ["/work", "/"].join(""),
  ["/root", "/"].join(""),
  // The path of this checkout and of the home directory, unless it is too short to identify a machine.
  ...[root, homedir()].filter((path) => path.split("/").length > 2).map((path) => `${path}/`),
];
const VAGUE_NAMES = new Set(["types", "utils", "helpers", "common", "misc"]);

/** Folders and files whose words are checked. */
const CHECKED_WORDS = [
  "packages/",
  "test/",
  "docs/",
  "examples/",
  "bench/",
  "scripts/",
  "README.md",
  "CONTRIBUTING.md",
  "REVIEW.md",
  "SECURITY.md",
];
/** Metaphors and vague actors that readers had to translate. Whole words, in any case. */
const FORBIDDEN_WORDS = [
  "nobody",
  "somebody",
  "anybody",
  "everybody",
  "whoever",
  "hearers?",
  "waist",
  "desks?",
  "doors?",
  "lanes?",
  "rooms?",
  "strangers?",
  "told",
  "puts? down",
  "putting down",
  "brought (up|back)",
  "what (became|becomes) of",
  "its word",
  "house rules?",
  "the rest of the world",
  "opendoors",
  "behind your back",
];
/** Metaphors that no name and no comment of a source contains, within an identifier too. */
const FORBIDDEN_IN_SOURCES: readonly {
  readonly words: RegExp;
  /** Where the word is an ordinary one. */
  readonly except?: RegExp;
}[] = [
  // Not "understanding".
  { words: /(?<!under)stand-?in(?!g)/i },
  { words: /spoken/i },
  { words: /departures?/i },
  // Not "boolean" and "clean".
  { words: /(?<![a-zA-Z])lean|[a-z]Lean(?![a-z])/ },
  { words: /[lL]etter/, except: /^packages\/(?!gateway\/src\/(replicas|calls)\/)/ },
  { words: /(?<![a-zA-Z])bells?(?![a-z])|[a-z]Bell/ },
  // The page of the console, and event streams of a gateway, have heartbeats.
  { words: /(?<![a-zA-Z])beats?(?![a-z])|[a-z]Beat/, except: /^packages\/(console|gateway\/src\/http)\// },
];
/** Real data, not metaphors. A line of `file` that contains `text` is not checked. */
const ALLOWED_USES: readonly { readonly file: string; readonly text: string }[] = [
  { file: "examples/langchain-changing-tools.ts", text: "open_door" },
  { file: "scripts/soak/soak-server.cjs", text: '"id":"nobody"' },
  { file: "scripts/schema-servers.mjs", text: 'BROWSERSTACK_USERNAME: "nobody"' },
  { file: "test/docs/examples.slow.test.ts", text: "open_door" },
  { file: "test/fixtures/argument-cases.json", text: '"room"' },
  // A published schema of a real server.
  { file: "test/fixtures/schemas/softeria-ms-365-mcp-server.json", text: '"room"' },
  { file: "test/integration/arguments-and-output.test.ts", text: "room" },
  // The system user.
  { file: "test/support/postgres-service.ts", text: '"nobody"' },
];

const files = repositoryFiles();
const read = (file: string) => readFileSync(join(root, file), "utf8");
const ours = files.filter(
  (file) => /^(packages|test|scripts|bench|examples)\//.test(file) && CODE.test(file),
);

const isSource = (file: string) => /^packages\/[^/]+\/src\//.test(file);

describe("files", () => {
  it("in src open with one sentence that states their purpose", () => {
    const sources = ours.filter((file) => isSource(file) && !file.endsWith(".test.ts"));
    const silent = sources.filter((file) => !/^(#![^\n]*\n)?\/\*\*/.test(read(file)));
    expect(silent).toEqual([]);
  });

  it(`are at most ${MAX_LINES} lines long`, () => {
    const long = ours
      .map((file) => ({ file, lines: read(file).trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > MAX_LINES);
    expect(long.map(({ file, lines }) => `${file}: ${lines} lines`)).toEqual([]);
  });

  it("have descriptive kebab-case names", () => {
    const odd = ours.filter((file) => {
      const name = basename(file).split(".")[0] ?? "";
      return VAGUE_NAMES.has(name) || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
    });
    expect(odd).toEqual([]);
  });

  it("use plain words", () => {
    const pattern = new RegExp(`\\b(${FORBIDDEN_WORDS.join("|")})\\b`, "i");
    const isChecked = (file: string) => CHECKED_WORDS.some((path) => file.startsWith(path));
    const found = files
      .filter((file) => isChecked(file) && !BINARY.test(file) && !file.endsWith("words.test.ts"))
      .flatMap((file) =>
        read(file)
          .split("\n")
          .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
          .filter(({ line }) => !ALLOWED_USES.some((use) => use.file === file && line.includes(use.text)))
          .flatMap(
            ({ line, place }) =>
              pattern
                .exec(line)
                ?.slice(0, 1)
                .map((word) => `${place} ${word}`) ?? [],
          ),
      );
    expect(found).toEqual([]);
  });

  it("in src use plain words in identifiers, too", () => {
    const sources = ours.filter(isSource);
    expect(sources.flatMap((file) => wordsIn(file, FORBIDDEN_IN_SOURCES))).toEqual([]);
  });

  it("contain no path of the machine they were written on", () => {
    const found = files
      .filter((file) => !BINARY.test(file))
      .flatMap((file) => {
        const text = read(file);
        return MACHINE_PATHS.filter((path) => text.includes(path)).map((path) => `${file}: ${path}`);
      });
    expect(found).toEqual([]);
  });
});

function wordsIn(file: string, rules: typeof FORBIDDEN_IN_SOURCES): string[] {
  const checked = rules.filter(({ except }) => except?.test(file) !== true);
  return read(file)
    .split("\n")
    .flatMap((line, index) =>
      checked.flatMap(({ words }) => {
        const found = words.exec(line);
        return found === null ? [] : [`${file}:${index + 1} ${found[0]}`];
      }),
    );
}
