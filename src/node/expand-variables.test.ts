// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test look like this
import { expect, test } from "vitest";
import { expandVariables } from "./expand-variables.js";

const env = { TOKEN: "abc", EMPTY: "", NESTED: "${TOKEN}", _x1: "y" };

test.each([
  ["Bearer ${TOKEN}", "Bearer abc"],
  ["${TOKEN}${TOKEN}", "abcabc"],
  ["${_x1}", "y"],
  ["${PORT:-8080}", "8080"],
  ["${TOKEN:-other}", "abc"],
  ["${EMPTY}", ""],
  ["${EMPTY:-filled}", "filled"],
  ["${MISSING:-}", ""],
  ["${NESTED}", "${TOKEN}"],
  ["$${TOKEN}", "${TOKEN}"],
  ["$TOKEN and $", "$TOKEN and $"],
  ["${x%y} ${ TOKEN }", "${x%y} ${ TOKEN }"],
])("%s becomes %s", (text, expected) => {
  expect(expandVariables(text, env)).toEqual({ text: expected, problems: [] });
});

test.each(["${MISSING}", "${constructor}", "a ${MISSING} b"])(
  "%s names the variable that is not set",
  (text) => {
    const { problems } = expandVariables(text, env);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^needs the variable (MISSING|constructor), which is not set/);
  },
);

test.each(["${env:TOKEN}", "${input:key}", "${file:secret.txt}"])("%s is reported, not sent", (text) => {
  expect(expandVariables(text, env).problems[0]).toContain(text);
});
