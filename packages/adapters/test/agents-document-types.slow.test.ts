/** Every code block of Cloudflare's page "McpClient — API reference" compiles, and its signatures are exactly ours. */
import type ts from "typescript";
import { expect, it } from "vitest";
import { checkSnippets, isForWorkers } from "../../../test/docs/check-snippets.js";
import { readMarkdown } from "../../../test/docs/markdown.js";
import { CLASS_BLOCKS, SIGNATURE_BLOCKS, toTypeTest } from "./agents-repairs.js";
import { repair } from "./readme-repairs.js";

const original = readMarkdown("test/fixtures/cloudflare-agents/blocks.md").blocks;
const textOf = (block: number) => original[block - 1]!.text;
const repaired = new Map(CLASS_BLOCKS.map((entry) => [entry.block, repair(textOf(entry.block), entry)]));
const snippet = (block: number, text: string) => ({ path: `block ${block}`, line: 1, text });

/** Names that the page uses without declaring them. */
const AMBIENT = `import type { LanguageModel } from "ai";
declare global {
  interface Env {}
  const openai: (model: string) => LanguageModel;
  const servers: Record<"weather" | "other", string>;
}
`;
/** The page is for Workers: uses the real types of that runtime and does not require `override`. */
const PAGE_OPTIONS: ts.CompilerOptions = {
  types: ["@cloudflare/workers-types", "node"],
  noImplicitOverride: false,
};

it("type-checks, and its signatures and types equal ours", () => {
  const signatures = SIGNATURE_BLOCKS.map((entry) =>
    snippet(entry.block, toTypeTest(textOf(entry.block), entry)),
  );
  const [entry] = SIGNATURE_BLOCKS;
  const wrong = textOf(entry!.block).replace("callbackHost?: string", "callbackHost?: number");
  const classes = [...repaired].map(([block, text]) => snippet(block, text));
  // Our own page as well: its Workers need the same types.
  const ours = readMarkdown("docs/agents.md").blocks.filter(({ text }) => isForWorkers(text));
  expect(ours).toHaveLength(2);
  const own = ours.map(({ line, text }) => ({ path: "docs/agents.md", line, text }));
  const documented = [...classes, ...signatures, snippet(0, toTypeTest(wrong, entry!))];
  const problems = checkSnippets([...documented, ...own], {
    ambient: AMBIENT,
    compilerOptions: PAGE_OPTIONS,
  });
  const slips = (code: string) =>
    problems
      .flatMap((problem) => new RegExp(`^block (\\d+):\\d+ ${code}:`).exec(problem)?.[1] ?? [])
      .map(Number);
  // Mistakes of the page: eight methods declare a Response but do not always return one …
  expect([slips("TS2366"), slips("TS2416")]).toEqual([
    [2, 8, 12, 26],
    [1, 7, 11, 25],
  ]);
  // … one treats the body of a request as a known type …
  expect(slips("TS2339")).toEqual([8]);
  // … and JavaScript blocks have no types. A signature that differs from ours is still an error.
  expect(slips("TS7006")).toEqual([1, 4, 7, 11, 21, 25]);
  expect(slips("TS2344")).toEqual([0]);
  expect(problems).toHaveLength(16);
});
