import { describe, expect, test } from "vitest";
import { errorLines } from "./error-lines.js";

/** Real output of the runtimes with shortened file names. */
const PRINTED: readonly [name: string, text: string, lines: string[]][] = [
  [
    "Deno",
    `error: Uncaught (in promise) TypeError: GITHUB_TOKEN is required
  throw new TypeError("GITHUB_TOKEN is required", { cause: new Error("no variable") });
        ^
    at main (file:///srv/d.ts:2:9)
    at file:///srv/d.ts:4:7
Caused by: Error: no variable
    at main (file:///srv/d.ts:2:60)
    at file:///srv/d.ts:4:7`,
    ["error: Uncaught (in promise) TypeError: GITHUB_TOKEN is required", "Caused by: Error: no variable"],
  ],
  [
    "Java",
    `Exception in thread "main" java.lang.IllegalStateException: GITHUB_TOKEN is required
\tat Main.token(Main.java:2)
\tat Main.main(Main.java:3)
Caused by: java.lang.NullPointerException
\tat java.base/java.util.Objects.requireNonNull(Objects.java:235)
\tat Main.token(Main.java:2)
\t... 1 more`,
    [
      'Exception in thread "main" java.lang.IllegalStateException: GITHUB_TOKEN is required',
      "Caused by: java.lang.NullPointerException",
    ],
  ],
  [
    "Rust",
    `
thread 'main' (13002) panicked at m.rs:1:13:
GITHUB_TOKEN is required
stack backtrace:
   0: std::panicking::begin_panic::<&str>
             at /rustc/59807616e1fa/library/std/src/panicking.rs:761:5
   1: m::main
   2: core::ops::function::FnOnce::call_once
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.`,
    ["GITHUB_TOKEN is required"],
  ],
  [
    "Rust before 1.73",
    `thread 'main' panicked at 'GITHUB_TOKEN is required', src/main.rs:2:5
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    ["thread 'main' panicked at 'GITHUB_TOKEN is required', src/main.rs:2:5"],
  ],
  [
    "Rust with anyhow",
    `Error: could not start

Caused by:
    0: reading the configuration
    1: GITHUB_TOKEN is required`,
    ["Error: could not start", "0: reading the configuration", "1: GITHUB_TOKEN is required"],
  ],
  [
    "Go",
    `panic: GITHUB_TOKEN is required

goroutine 1 [running]:
main.main()
\t/srv/main.go:4 +0x2c
exit status 2`,
    ["panic: GITHUB_TOKEN is required"],
  ],
  [
    ".NET",
    `Unhandled exception. System.InvalidOperationException: GITHUB_TOKEN is required
   at Program.<Main>$(String[] args) in /srv/Program.cs:line 1`,
    ["Unhandled exception. System.InvalidOperationException: GITHUB_TOKEN is required"],
  ],
  [
    "Ruby",
    `server.rb:1:in 'Object#token': GITHUB_TOKEN is required (RuntimeError)
\tfrom server.rb:3:in '<main>'`,
    ["server.rb:1:in 'Object#token': GITHUB_TOKEN is required (RuntimeError)"],
  ],
  [
    "Bun",
    `1 | throw new Error("GITHUB_TOKEN is required");
          ^
error: GITHUB_TOKEN is required
      at /srv/server.ts:1:7

Bun v1.4.4 (Linux x64)`,
    ["error: GITHUB_TOKEN is required"],
  ],
  [
    "an exception group in Python",
    `  + Exception Group Traceback (most recent call last):
  |   File "/srv/group.py", line 6, in <module>
  |     raise ExceptionGroup("unhandled errors in a TaskGroup", [e]) from None
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/group.py", line 2, in f
    |     raise RuntimeError("GITHUB_TOKEN is required")
    | RuntimeError: GITHUB_TOKEN is required
    +------------------------------------`,
    [
      "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
      "RuntimeError: GITHUB_TOKEN is required",
    ],
  ],
  [
    "a multi-line message in Python",
    `Traceback (most recent call last):
  File "/srv/server.py", line 9, in <module>
    settings = Settings()
               ^^^^^^^^^^
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
GITHUB_TOKEN
  Field required [type=missing, input_value={}, input_type=dict]`,
    [
      "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings GITHUB_TOKEN Field required [type=missing, input_value={}, input_type=dict]",
    ],
  ],
  [
    "a package that does not exist",
    `npm warn Unknown user config "x".
npm error code E404
npm error 404 Not Found - GET https://registry.example/no-such-package - Not found
npm error 404
npm error 404  The requested resource 'no-such-package@*' could not be found or you do not have permission to access it.
npm error A complete log of this run can be found in: /srv/npm/_logs/2026-debug-0.log`,
    [
      "npm error 404 Not Found - GET https://registry.example/no-such-package - Not found",
      "npm error 404",
      "npm error 404 The requested resource 'no-such-package@*' could not be found or you do not have permission to access it.",
    ],
  ],
];

test.each(PRINTED)("%s", (_name, text, lines) => {
  expect(errorLines(text)).toEqual(lines);
});

describe("plain text", () => {
  test("the last three lines", () => {
    expect(errorLines("one\ntwo\n\nthree\nfour\n")).toEqual(["two", "three", "four"]);
    expect(errorLines("")).toEqual([]);
  });

  test("an error without a stack is kept although many lines follow", () => {
    const usage = Array.from({ length: 20 }, (_, index) => `  --option-${index}`).join("\n");
    expect(errorLines(`Error: GITHUB_TOKEN is required\nUsage: server\n${usage}`)).toEqual([
      "Error: GITHUB_TOKEN is required",
      "--option-18",
      "--option-19",
    ]);
  });

  test("lines after an earlier stack are kept too", () => {
    const text = "Error: no cache\n    at a (/b.js:1:1)\nGITHUB_TOKEN is required\nGood bye";
    expect(errorLines(text)).toEqual(["Error: no cache", "GITHUB_TOKEN is required", "Good bye"]);
    expect(errorLines("Error: no cache\n    at a (/b.js:1:1)\nGITHUB_TOKEN is required")).toEqual([
      "Error: no cache",
      "GITHUB_TOKEN is required",
    ]);
  });

  test("long lines are cut, and the same error appears once", () => {
    expect(errorLines("x".repeat(100_000))).toEqual([`${"x".repeat(300)}…`]);
    const again = "Error: a\n    at b (/c.js:1:1)\n".repeat(50);
    expect(errorLines(again)).toEqual(["Error: a"]);
  });

  test("frames alone, whose error was cut off, give no lines", () => {
    expect(errorLines("    at a (/b.js:1:1)\n    at c (/d.js:2:2)\n\nNode.js v20.20.2")).toEqual([]);
  });
});
