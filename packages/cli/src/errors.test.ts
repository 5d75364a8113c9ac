import {
  AuthError,
  CatalogError,
  ConfigError,
  ConnectionError,
  StateError,
  ToolCallError,
  ToolportError,
} from "@toolport/base";
import { describe, expect, test } from "vitest";
import { CliError, errorDocument, formatError } from "./errors.js";

const plain = { isVerbose: false, paint: (_colour: string, text: string) => text };
const of = { server: "s", what: "It failed" };

describe("gives every error an exit code and a command to try", () => {
  const cases: readonly (readonly [Error, number, string])[] = [
    [new CliError("x", "toolport list"), 1, "toolport list"],
    [new CliError("x"), 1, "toolport --help"],
    [
      new ConfigError({ code: "INVALID_CONFIG", issues: [{ path: "a", message: "b" }] }),
      2,
      "toolport doctor",
    ],
    [new ConfigError({ code: "UNKNOWN_SERVER", ...of }), 2, "toolport list"],
    [new AuthError({ code: "AUTH_REQUIRED", ...of }), 3, "toolport auth s"],
    [new ConnectionError({ code: "UNREACHABLE", ...of }), 4, "toolport doctor s"],
    [new ToolCallError({ code: "TIMEOUT", ...of }), 4, "toolport doctor s"],
    [new ToolCallError({ code: "FALLBACK_EXHAUSTED", ...of }), 4, "toolport doctor s"],
    [new ToolCallError({ code: "INVALID_ARGUMENTS", ...of, tool: "t t" }), 1, "toolport tools 's.t t'"],
    [new ToolCallError({ code: "INVALID_ARGUMENTS", ...of }), 1, "toolport prompts s"],
    [new ToolCallError({ code: "PROTOCOL", ...of }), 1, "toolport inspect s --raw"],
    [new CatalogError({ code: "PROMPT_NOT_FOUND", ...of }), 1, "toolport prompts s"],
    [new CatalogError({ code: "RESOURCE_NOT_FOUND", ...of }), 1, "toolport resources s"],
    [new CatalogError({ code: "TOOL_WITHHELD", ...of }), 1, "toolport inspect s"],
    [new CatalogError({ code: "TOOL_CHANGED", ...of }), 1, "toolport inspect s"],
    [new CatalogError({ code: "DISCOVERY_FAILED", ...of }), 1, "toolport inspect s --raw"],
    [new StateError({ code: "BUSY", what: "It failed" }), 1, "toolport doctor"],
    [
      new ToolportError({ code: "X", what: "y", errors: [new AuthError({ code: "AUTH_REQUIRED", ...of })] }),
      3,
      "toolport doctor",
    ],
    [new TypeError("oops"), 1, "toolport doctor"],
  ];
  test.each(cases)("%s", (error, exitCode, next) => {
    expect(errorDocument(error)).toMatchObject({ exitCode, next });
    expect(
      formatError(error, { ...plain, isJson: false })
        .split("\n")
        .at(-1),
    ).toBe(`Try: ${next}`);
    const line = formatError(error, { ...plain, isJson: true });
    expect(line).not.toContain("\n");
    expect(JSON.parse(line)).toMatchObject({ error: { exitCode, next } });
  });
});

test("shows the stderr of a failed program with control characters escaped", () => {
  const error = new ConnectionError({
    code: "SPAWN_FAILED",
    ...of,
    exitCode: 3,
    stderrTail: "first\n\u001b[2Jlast\n",
  });
  expect(formatError(error, { ...plain, isJson: false })).toBe(
    [
      "error: s: It failed (SPAWN_FAILED)",
      "The program wrote:",
      "  first",
      "  \\x1b[2Jlast",
      "Try: toolport doctor s",
    ].join("\n"),
  );
  expect(errorDocument(error)).toMatchObject({ processExitCode: 3, code: "SPAWN_FAILED", server: "s" });
});

test("indents and escapes text from servers, and quotes the command to try", () => {
  const tool = "read\u200b\nwarning: it's fine";
  const what = "It said:\nerror: forged\n  - an issue";
  const error = new ToolCallError({ code: "INVALID_ARGUMENTS", server: "s", tool, what });
  expect(formatError(error, { ...plain, isJson: false })).toBe(
    [
      "error: s.read\\u{200b}\\nwarning: it's fine: It said:",
      "  error: forged",
      "  - an issue (INVALID_ARGUMENTS)",
      "Try: toolport tools $'s.read\\U0000200b\\U0000000awarning: it\\'s fine'",
    ].join("\n"),
  );
  expect(error.tool).toBe(tool);
  expect(error.message).toMatch(/^\[s\/read\\u\{200b\}\\nwarning: it's fine\] It said:/);
});
