/** URI templates of RFC 6570, and invalid templates. */
import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { parseUriTemplate, type TemplateArguments } from "./uri-template.js";

const values: TemplateArguments = {
  var: "value",
  hello: "Hello World!",
  path: "/foo/bar",
  empty: "",
  x: "1024",
  y: "768",
  half: "50%",
  base: "http://example.com/home/",
  list: ["red", "green", "blue"],
  none: [],
  count: 3,
};

/** From the tables of the RFC. */
const examples: [template: string, expanded: string][] = [
  ["{var}", "value"],
  ["{hello}", "Hello%20World%21"],
  ["{half}", "50%25"],
  ["O{empty}X", "OX"],
  ["O{undef}X", "OX"],
  ["{x,y}", "1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,empty}", "?1024,"],
  ["?{x,undef}", "?1024"],
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{list}", "red,green,blue"],
  ["{list*}", "red,green,blue"],
  ["{+var}", "value"],
  ["{+hello}", "Hello%20World!"],
  ["{+half}", "50%25"],
  ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
  ["{+base}index", "http://example.com/home/index"],
  ["{+path}/here", "/foo/bar/here"],
  ["{+x,hello,y}", "1024,Hello%20World!,768"],
  ["{+path:6}/here", "/foo/b/here"],
  ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["X{#hello}", "X#Hello%20World!"],
  ["X{.var}", "X.value"],
  ["X{.x,y}", "X.1024.768"],
  ["X{.list}", "X.red,green,blue"],
  ["X{.list*}", "X.red.green.blue"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
  ["{;x,y}", ";x=1024;y=768"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{;list*}", ";list=red;list=green;list=blue"],
  ["{?x,y}", "?x=1024&y=768"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["{?x,y,undef}", "?x=1024&y=768"],
  ["{?list*}", "?list=red&list=green&list=blue"],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
  ["{none}{?none}", ""],
  ["a{count}", "a3"],
];

test.each(examples)("%s", (template, expanded) => {
  expect(parseUriTemplate(template)?.expand(values)).toBe(expanded);
});

test("variables of a query are optional", () => {
  const template = parseUriTemplate("repo://{owner}/{repo}{/path*}{?ref,depth}");
  expect(template?.names).toEqual(["owner", "repo", "path", "ref", "depth"]);
  expect(template?.required).toEqual(["owner", "repo", "path"]);
});

test("values are encoded, and inherited properties are ignored", () => {
  expect(parseUriTemplate("file:///{name}/x")?.expand({ name: "../../etc/passwd?#" })).toBe(
    "file:///..%2F..%2Fetc%2Fpasswd%3F%23/x",
  );
  expect(parseUriTemplate("a{constructor}b")?.expand({})).toBe("ab");
  expect(parseUriTemplate("{half}")?.expand({ half: "\ud800" })).toBe("%EF%BF%BD");
});

describe("an invalid template", () => {
  test.each([
    "{",
    "}",
    "a{b",
    "a}b",
    "{}",
    "{a b}",
    "{a:0}",
    "{a:x}",
    "{a:3*}",
    "{!a}",
    "{a,,b}",
    "x".repeat(10_001),
  ])("%s", (text) => expect(parseUriTemplate(text)).toBeUndefined());
  test("is parsed in linear time", () => {
    const startedAt = cpuTimeMs();
    parseUriTemplate("{a".repeat(5_000));
    parseUriTemplate(`{${"a,".repeat(4_900)}a}`);
    expect(cpuTimeMs() - startedAt).toBeLessThan(2_000);
  });
});
