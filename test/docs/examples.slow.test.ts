/** Every example runs from beginning to end and leaves nothing behind. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { expect, test } from "vitest";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { readMarkdown, root } from "./markdown.js";

const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));

/** A line that each example must print. */
const KEY_LINES: Readonly<Record<string, string>> = {
  "ai-sdk.ts": "model: 5 in 2026",
  "anthropic.ts": "model: Sorry, no tea today",
  "approve.ts": "REFUSED, 1 file left",
  "code-mode.ts": "model: Norway: 19800",
  "context-budget.ts": "model: Yes: Login fails after an update",
  "defer-tools.ts": "sales__archive_contract: archive contract C-7: done by sales",
  "fallback.ts": "1 EUR = 11.79 NOK, says spare",
  "gateway.ts": "grace: files__read, clock__now",
  "gemini.ts": "model: A single pixel",
  "healing.ts": "CLOSED, outcome unknown, ordered 1 time",
  "human-in-the-loop.ts": "2 requests, 1 booking",
  "langchain-agent.ts": "count: 3 of cake",
  "langchain-changing-tools.ts": "open_door: The door is open",
  "langchain-own-client.ts": "model: It is 8",
  "langchain-react-agent.ts": "model: It is 96",
  "many-processes.ts": "a process died, a new one serves ada: 2 logins for 2 users",
  "many-servers.ts": "HELLO FROM 2026, says child",
  "openai.ts": "model: Take an umbrella to Oslo",
  "own-tests.ts": "650 cents, three calls, one of them a tool error: all as expected",
  "resources.ts": "read again: Shop closes at 6",
  "registry.ts": "Oslo: rain",
  "retried-activity.ts": "1 payment",
  "per-user.ts": "100 of 100 calls reached the inbox of their user",
};

/** Examples that start themselves as other processes run as programs. */
const PROGRAMS = ["human-in-the-loop.ts", "many-processes.ts", "retried-activity.ts"];

test.each(examples.filter((name) => !PROGRAMS.includes(name)))("%s", async (name) => {
  const before = takeLeakSnapshot();
  const { main } = (await import(join(root, "examples", name))) as {
    main: (print: (line: string) => void) => Promise<void>;
  };
  const lines: string[] = [];
  await main((line) => lines.push(line));
  expect(lines).toContain(KEY_LINES[name]);
  await waitForNoLeaks(before);
});

test.each(PROGRAMS)("%s, as a program", async (name) => {
  // Within the repository, where `toolport` means the build of this package.
  mkdirSync(join(root, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(root, ".cache", "example-"));
  try {
    const text = readFileSync(join(root, "examples", name), "utf8");
    const program = join(folder, name.replace(/\.ts$/, ".js"));
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    writeFileSync(program, ts.transpileModule(text, { compilerOptions }).outputText);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--no-warnings", program]);
    expect({ lines: stdout.split("\n"), stderr }).toEqual({
      lines: expect.arrayContaining([KEY_LINES[name]]),
      stderr: "",
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("every example is named in the README and says how to run it", () => {
  const linked = readMarkdown("README.md").links.map(({ target }) => target);
  const hidden = examples.filter((name) => !linked.includes(`examples/${name}`));
  const silent = examples.filter(
    (name) => !readFileSync(join(root, "examples", name), "utf8").includes(`node examples/${name}`),
  );
  expect({ hidden, silent }).toEqual({ hidden: [], silent: [] });
});
