/** docs/command-line.md names every command and every option of the command line, and no other. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GLOBAL_OPTIONS } from "../../packages/cli/src/command-options.js";
import { COMMANDS } from "../../packages/cli/src/commands.js";

const page = readFileSync(new URL("../../docs/command-line.md", import.meta.url), "utf8");
const commands = COMMANDS.filter(({ isHidden }) => isHidden !== true);
const lines = [...page.matchAll(/\btoolport ([a-z]+)((?: [^\n`#|]*)?)/g)].map(([, name = "", rest = ""]) => ({
  name,
  rest,
}));

test("every command is described", () => {
  for (const { name } of commands)
    expect(page, name).toMatch(new RegExp(`toolport ${name}\\b|\`${name}[\` ]`));
});

test("every option is described", () => {
  // The options of `serve` are in gateway.md.
  const described = commands.filter(({ name }) => name !== "serve");
  const names = new Set([GLOBAL_OPTIONS, ...described.map(({ options }) => options)].flatMap(Object.keys));
  expect([...names].filter((name) => !page.includes(`--${name}`))).toEqual([]);
});

test("every command line that it shows has a known command and known options", () => {
  expect(lines.length).toBeGreaterThan(60);
  const wrong = lines.flatMap(({ name, rest }) => {
    const command = commands.find((each) => each.name === name);
    if (command === undefined) return [name];
    // The words after `--` belong to another program, and quotes hold the words of one.
    const own = rest.replace(/ -- .*$/, "").replace(/"[^"]*"|'[^']*'/g, "");
    const given = [...own.matchAll(/ --([a-z][a-z-]*)/g)].map(([, option = ""]) => option);
    return given
      .filter((option) => command.options[option] === undefined && GLOBAL_OPTIONS[option] === undefined)
      .filter(() => command.takesNamed !== true)
      .map((option) => `${name} --${option}`);
  });
  expect(wrong).toEqual([]);
});
