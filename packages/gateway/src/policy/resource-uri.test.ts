/** The normal form of URIs, and those with more than one reading. */
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPattern, readTemplate, readUri } from "./resource-uri.js";

describe("the normal form", () => {
  test.each([
    ["file:///home/a.txt", "file:///home/a.txt"],
    ["FILE:///home/a.txt", "file:///home/a.txt"],
    ["file:/home/a.txt", "file:///home/a.txt"],
    ["file://LocalHost/home/a.txt", "file:///home/a.txt"],
    ["file:///public/../home/./a.txt", "file:///home/a.txt"],
    ["file:///../../home", "file:///home"],
    ["file:///home/%73ecret%7e", "file:///home/secret~"],
    ["file:///home/b%c3%bcro", "file:///home/b%C3%BCro"],
    ["file:///home/büro 1", "file:///home/b%C3%BCro%201"],
    ["file:///c%3a/Users", "file:///C:/Users"],
    ["HTTPS://Example.COM:443/A/%7eb?q=%2f%3d", "https://example.com/A/~b?q=%2F%3D"],
    ["http://example.com:/x", "http://example.com/x"],
    ["https://[::1]:8443/x", "https://[::1]:8443/x"],
    ["Note://Alice/B", "note://Alice/B"],
    ["note://alice/a/../b", "note://alice/b"],
    ["urn:ISBN:1", "urn:ISBN:1"],
    ["git+ssh:a%3Ab", "git+ssh:a%3Ab"],
    ["fetch://https://example.com/x", "fetch://https://example.com/x"],
  ])("%s is %s", (text, normal) => {
    expect(readUri(text)).toMatchObject({ uri: normal, problem: undefined });
  });

  test.each([
    ["file:///home/{name}", "file:///home/{name}"],
    ["FILE:///public/../{+path}", "file:///{+path}"],
    ["https://{Host}/x{?Q,r}", "https://{Host}/x{?Q,r}"],
    ["{scheme}://x/{#y}", "{scheme}://x/{#y}"],
  ])("the template %s is %s", (template, normal) => {
    expect(readTemplate(template)).toMatchObject({ uri: normal, decoded: normal });
  });

  test("stays as it is when it is read again", () => {
    const piece = fc.constantFrom(
      ..."file: FILE: https: note: // / /../ /./ ? # @ : %2e %2F %5c %25 %73 %C3%BC %ff %0 \\ ü u\u0308 . .. a B localhost C: | ~1".split(
        " ",
      ),
      " ",
      "\u0000",
      "\ud800",
    );
    fc.assert(
      fc.property(
        fc.constantFrom("file:", "FILE:///", "https://a", "note://A", ""),
        fc.array(piece, { maxLength: 12 }),
        (start, pieces) => {
          const read = readUri(start + pieces.join(""));
          if (read.problem !== undefined) return;
          const sent = readUri(read.uri);
          expect(sent).toMatchObject({ uri: read.uri, problem: undefined });
          if (!sent.uri.startsWith("file:")) return;
          // Node, which is a server's usual way to a file, finds no other name for it.
          const path = fileURLToPath(sent.uri);
          expect(fileURLToPath(sent.decoded)).toBe(path);
          expect(posix.resolve(path)).toBe(path);
        },
      ),
      { numRuns: 10_000 },
    );
  });
});

describe("URIs with more than one reading", () => {
  test.each([
    ["file:///public/..%2fsecret", "encoded slash", "file:///secret"],
    ["file:///public/..%5Csecret", "encoded slash", "file:///secret"],
    ["file:///public/%2e%2E/secret", "encoded . or ..", "file:///secret"],
    ["file:///public/.%2e/secret", "encoded . or ..", "file:///secret"],
    ["https://x/public/..;a/secret", "parameters", "https://x/public/..;a/secret"],
    ["file:///public\\..\\secret", "backslash", "file:///secret"],
    ["file:///%2573ecret", "encoded twice", "file:///secret"],
    ["file:///secret%00.txt", "control character", "file:///secret%00.txt"],
    ["file:///secret\u0000.txt", "control character", "file:///secret%00.txt"],
    ["file:///secret\n", "begins or ends with a space", "file:///secret%0A"],
    ["file:///secret?x", "query", "file:///secret"],
    ["file:///secret#x", "fragment", "file:///secret"],
    ["file:///secret/", "ends with /", "file:///secret/"],
    ["file:////secret", "//", "file:///secret"],
    ["file://server/secret", "names a host", "file:///secret"],
    ["file:secret", "relative", "file:secret"],
    ["file:///C|/secret", "written with |", "file:///C%7C/secret"],
    ["file:///C:/secret.txt.", "Windows", "file:///C:/secret.txt."],
    ["file:///C:/SECRET~1.TXT", "Windows", "file:///C:/SECRET~1.TXT"],
    ["file:///%ff", "not UTF-8", "file:///%C3%BF"],
    ["file:///100%", "two hexadecimal digits", "file:///100%25"],
    ["file:///bu\u0308ro", "NFC", "file:///b%C3%BCro"],
    ["https://public@secret/", "user", "https://secret/"],
    ["https://secret./", "host", "https://secret/"],
    ["https://0x7f.1/", "host", "https://0x7f.1/"],
    ["https://bücher.example/", "host", "https://bücher.example/"],
    ["https:secret", "no host", "https:secret"],
    ["note://public@secret/", "user", "note://secret/"],
    ["urn:a/../secret", "without a path", "urn:a/../secret"],
    ["secret.txt", "no scheme", "secret.txt"],
  ])("%j: %s", (text, problem, decoded) => {
    const read = readUri(text);
    expect(read.problem).toContain(problem);
    expect(read.decoded).toBe(decoded);
  });

  test.each([
    ["note://Alice/x", "note://alice/x"],
    ["note:/x", "note:///x"],
    ["note://x/a%3Ab", "note://x/a:b"],
    ["note://x//b", "note://x/b"],
    ["https://x/?q=%2Fa", "https://x/?q=/a"],
  ])("%s may be sent, and is decided about as %s too", (text, decoded) => {
    expect(readUri(text)).toEqual({ uri: text, decoded, problem: undefined });
  });
});

test.each([
  ["file:///home/*", "file:///home/*"],
  ["*secret*", undefined],
  ["docs://public/?*", "docs://public/?*"],
  ["https://*.example.com/*", "https://*.example.com/*"],
  ["file:///{+path}", "file:///{+path}"],
  ["http*://x/%73", undefined],
  ["FILE:///home/*", "file:///home/*"],
  ["file://localhost/home/?", "file:///home/?"],
  ["file:///home/my files/*", "file:///home/my%20files/*"],
  ["file:///büro/*", "file:///b%C3%BCro/*"],
  ["file:///a/../b*", "file:///b*"],
  ["https://Example.com:443/*", "https://example.com/*"],
])("the pattern %s is compared as %s", (pattern, form) => {
  expect(readPattern(pattern)?.uri).toBe(form);
});
