/** The message for the model whose program failed. */
import { expect, test } from "vitest";
import { describeFailure, realPosition } from "./describe-failure.js";

const members = {
  github: ["createIssue", "listIssues"],
  files: Array.from({ length: 40 }, (_, n) => `read${n}`),
};
const facts = { source: "const a = 1;\nconst b = ;\nreturn a", members, calls: [] };
const failure = { name: "SyntaxError", message: "unexpected token", code: "SYNTAX" } as const;

test("position, the line with a mark, and that nothing ran", () => {
  expect(describeFailure({ ...failure, line: 2, column: 11 }, facts)).toBe(
    "SyntaxError, line 2, column 11: unexpected token.\n  const b = ;\n            ^\nNo call was made.",
  );
});

test("a long line is cut, and hidden characters are spelled out", () => {
  const source = `const a = "\u200b${"x".repeat(500)}";`;
  const text = describeFailure({ ...failure, line: 1, column: 300 }, { ...facts, source });
  expect(text).toContain("\\u{200b}");
  expect(text).not.toContain("^");
  expect(text.length).toBeLessThan(300);
});

test("modules are explained", () => {
  const text = describeFailure({ ...failure, line: 1 }, { ...facts, source: 'import fs from "fs";' });
  expect(text).toContain("There are no modules");
});

test("what exists instead, with a suggestion, and at most thirty names", () => {
  const thrown = {
    name: "ToolError",
    message: 'tools.github has no function "x". It has: a',
    code: "THROWN",
  } as const;
  const tool = describeFailure({ ...thrown, missing: { server: "github", tool: "createIsue" } }, facts);
  expect(tool).toContain("Did you mean tools.github.createIssue? tools.github has: createIssue, listIssues.");
  expect(tool).not.toContain("It has: a");
  const many = describeFailure({ ...thrown, missing: { server: "files", tool: "zzz" } }, facts);
  expect(many).toContain("read29, and 10 more.");
  expect(describeFailure({ ...thrown, missing: { server: "none" } }, facts)).toContain(
    "tools has: github, files.",
  );
});

test("what had run, with its outcome, equal calls once", () => {
  const call = { tool: "a", ok: true, durationMs: 1 };
  const calls = [
    call,
    call,
    { ...call, tool: "b", ok: false, code: "TOOL_ERROR" },
    { ...call, tool: "c", ok: false, code: "REFUSED", outcome: "unsent" },
    { ...call, tool: "d", ok: false, code: "TIMEOUT", outcome: "unknown" },
  ] as const;
  expect(describeFailure(failure, { ...facts, calls })).toContain(
    "Calls before that: a succeeded (2 times), b failed (TOOL_ERROR), c was not sent (REFUSED), d may have run (TIMEOUT).",
  );
});

test.each([
  [
    { line: 2, column: 11 },
    { line: 2, column: 11 },
  ],
  [
    { line: 2, column: 12 },
    { line: 2, column: 12 },
  ],
  [{ line: 2, column: 13 }, { line: 2 }],
  [{ line: 2, column: 0 }, { line: 2 }],
  [{ line: 0, column: 1 }, {}],
  [{ line: 4, column: 1 }, {}],
  [{ line: 1e21, column: 1 }, {}],
  [{ line: 1.5, column: 1 }, {}],
  [{ line: Number.NaN }, {}],
  [{}, {}],
])("the position %j is reported as %j", (given, expected) => {
  expect(realPosition(given, facts.source)).toEqual(expected);
});
