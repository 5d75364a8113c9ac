// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test look like this
import { describe, expect, test } from "vitest";
import { expandVariables, referencesIn, type VariableSource, withDefaults } from "./expand-variables.js";

const source: VariableSource = {
  env: { TOKEN: "abc", EMPTY: "", NESTED: "${TOKEN}", _x1: "y" },
  words: { workspaceFolder: "/project", userHome: "/home/ada", "/": "/" },
  readFile: async (path) =>
    path === "secret.txt"
      ? { value: "${TOKEN}", secret: true }
      : { problem: "names a file that does not exist" },
  askInput: async (id) =>
    id === "key" ? { value: "$TOKEN", secret: true } : { problem: "needs an answer to the input" },
};

describe("forms that every file supports", () => {
  test.each([
    ["Bearer ${TOKEN}", "Bearer abc"],
    ["${TOKEN}${TOKEN}", "abcabc"],
    ["${_x1}", "y"],
    ["${PORT:-8080}", "8080"],
    ["${TOKEN:-other}", "abc"],
    ["${EMPTY}", ""],
    ["${EMPTY:-filled}", "filled"],
    ["${MISSING:-}", ""],
    ["${env:TOKEN}", "abc"],
    ["${env:MISSING:-x:y}", "x:y"],
    ["$env:TOKEN/mcp", "abc/mcp"],
    ["{env:TOKEN}", "abc"],
    ["{file:secret.txt}", "${TOKEN}"],
    ["${file:secret.txt}", "${TOKEN}"],
    ["${input:key}", "$TOKEN"],
    ["${workspaceFolder}${/}x", "/project/x"],
    ["${userHome}", "/home/ada"],
    // One pass: values are not expanded again.
    ["${NESTED}", "${TOKEN}"],
    // Not variables.
    ["$${TOKEN}", "${TOKEN}"],
    ["$${env:TOKEN}", "${env:TOKEN}"],
    ["$TOKEN and $", "$TOKEN and $"],
    ["${x%y} ${ TOKEN }", "${x%y} ${ TOKEN }"],
    ['{"a":1} {}', '{"a":1} {}'],
  ])("%s becomes %s", async (text, expected) => {
    expect(await expandVariables(text, source)).toMatchObject({ text: expected, problems: [] });
  });
});

test.each([
  ["$TOKEN", "abc"],
  ["a-$TOKEN-b", "a-abc-b"],
  ["${TOKEN}$TOKEN", "abcabc"],
  ["^x$", "^x$"],
  ["$${TOKEN}", "${TOKEN}"],
])("where bare variables are allowed, %s becomes %s", async (text, expected) => {
  const { text: expanded } = await expandVariables(text, { ...source, bare: true });
  expect(expanded).toBe(expected);
});

test.each([
  "${MISSING}",
  "${env:MISSING}",
  "{env:MISSING}",
  "$env:MISSING",
  "${constructor}",
  "a ${MISSING} b",
])("%s reports the unset variable", async (text) => {
  const { problems } = await expandVariables(text, source);
  expect(problems).toEqual([
    expect.stringMatching(/^needs the variable (MISSING|constructor), which is not set; set it, or write/),
  ]);
});

test.each(["${command:pick}", "${config:some.setting}", "${workspaceFolder:other}", "${env:}"])(
  "%s is reported, not sent",
  async (text) => {
    expect((await expandVariables(text, source)).problems[0]).toContain(
      `contains ${text}, which is not supported`,
    );
  },
);

test("marks values of files and password inputs as secret", async () => {
  expect(await expandVariables("${input:key}", source)).toMatchObject({ secret: true });
  expect(await expandVariables("${TOKEN}", source)).toMatchObject({ secret: false });
});

test("finds the references in a text without resolving them", () => {
  const text = "${A} ${B:-b} ${env:C} {env:D} $env:E ${file:~/x y} {file:z} ${input:key} $${F} ${not one} $G";
  const named = (name: string, fallback?: string) => ({ kind: "variable", name, fallback });
  const found = [
    ...[named("A"), named("B", "b"), named("C"), named("D"), named("E")],
    ...[
      { kind: "file", path: "~/x y" },
      { kind: "file", path: "z" },
      { kind: "input", id: "key" },
    ],
  ];
  expect(referencesIn(text)).toEqual(found);
  expect(referencesIn(text, { bare: true })).toEqual([...found, named("G")]);
  expect(withDefaults("${X:-sudo} ${Y} $${Z:-no}")).toBe("sudo ${Y} $${Z:-no}");
});
