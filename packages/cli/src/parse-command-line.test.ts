import { describe, expect, test } from "vitest";
import type { CommandSpec } from "./command.js";
import { CliError } from "./errors.js";
import { parseCommandLine } from "./parse-command-line.js";

const command = (name: string, more: Partial<CommandSpec> = {}): CommandSpec => ({
  name,
  summary: name,
  group: "use",
  positionals: [{ name: "target", summary: "what", completes: "tool" }],
  options: {},
  examples: [],
  load: () => Promise.reject(new Error("not here")),
  ...more,
});
const COMMANDS = [
  command("call", {
    positionals: [
      { name: "target", summary: "what", completes: "tool" },
      { name: "arguments", summary: "with what", optional: true, rest: true },
    ],
    options: { args: { type: "string", summary: "json" } },
  }),
  command("list", { positionals: [] }),
  command("add", { takesCommand: true }),
];
const parse = (line: string) => parseCommandLine(line.split(" "), COMMANDS);
const failure = (line: string): CliError => {
  try {
    parse(line);
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error("the line was accepted");
};

describe("accepts options in any position", () => {
  test.each([
    "call a.b x=1 --json --timeout 5 --args {}",
    "--json --timeout 5 --args {} call a.b x=1",
    "--timeout=5 call --json a.b --args={} x=1",
    "call --args {} --timeout 5 --json a.b x=1",
  ])("%s", (line) => {
    const parsed = parse(line);
    if (parsed.wants !== "run") throw new Error("it should run");
    const { command: found, words, options } = parsed.invocation;
    expect([found.name, words]).toEqual(["call", ["a.b", "x=1"]]);
    expect(options).toEqual({ json: true, timeout: "5", args: "{}" });
  });
});

test("leaves the words after -- to another program", () => {
  const parsed = parse("add time -- uvx --json server");
  expect(parsed).toMatchObject({
    wants: "run",
    invocation: { words: ["time"], passthrough: ["uvx", "--json", "server"], options: {} },
  });
});

test("help and version", () => {
  expect(parse("--help")).toEqual({ wants: "help", command: undefined });
  expect(parse("call --help")).toMatchObject({ wants: "help", command: { name: "call" } });
  expect(parse("help call")).toMatchObject({ wants: "help", command: { name: "call" } });
  expect(parse("call --version")).toEqual({ wants: "version" });
});

describe("rejects wrong input with a suggestion and the command to try", () => {
  test.each([
    ["lst", "Did you mean list?", "toolport list --help"],
    ["list --jsn", "Did you mean --json?", "toolport list --help"],
    ["list --timeout", "--timeout requires a value: --timeout <ms>", "toolport list --help"],
    ["list --timeout --json", "--timeout requires a value", "toolport list --help"],
    ["list --json=1", "--json takes no value", "toolport list --help"],
    ["list --output yaml", "--output must be one of text, json, raw", "toolport list --help"],
    ["list a", "Too many arguments: a", "toolport list --help"],
    ["call", "target is missing: what", "toolport call --help"],
    ["list -- x", "list takes no command after --", "toolport list --help"],
    ["zzzzzz", 'There is no command "zzzzzz"', "toolport --help"],
  ])("%s", (line, message, next) => {
    const error = failure(line);
    expect(error.message).toContain(message);
    expect([error.next, error.exitCode]).toEqual([next, 1]);
  });
});
