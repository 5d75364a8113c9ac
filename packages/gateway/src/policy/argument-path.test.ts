/** Paths in arguments: their normal form, what has none, and conditions on them. */
import { describe, expect, test } from "vitest";
import { readPath } from "./argument-path.js";
import type { ArgumentTest, PolicyEffect } from "./policy.js";
import { readPolicy } from "./read-policy.js";

test.each([
  ["/home/a", "/home/a"],
  ["/home//b/./../a/", "/home/a"],
  ["/../..", "/"],
  ["a/./b/../c", "a/c"],
  ["./a", "a"],
  ["", "."],
  ["src\\main\\x.c", "src/main/x.c"],
  ["c:\\Users\\.\\a", "C:/Users/a"],
  ["C:/Users\\b/../a", "C:/Users/a"],
  ["/home/50%", "/home/50%"],
  ["/home/a%20b", "/home/a%20b"],
  ["/home/~a", "/home/~a"],
  ["FILE://localhost/home/%61", "/home/a"],
  ["file:///c:/Users/a", "C:/Users/a"],
])("%j is %j", (text, normal) => {
  expect(readPath(text)).toBe(normal);
});

test.each([
  "../a",
  "a/../../b",
  "~/a",
  "~root/a",
  "$HOME/a",
  "%USERPROFILE%\\a",
  "/home\\..\\a",
  "/home/%2e%2e/a",
  "/home/..%2fa",
  "/home/a%00",
  "/home/%252e",
  "/home/a\0.txt",
  "/home/a\n",
  " /home/a",
  "//server/a",
  "\\\\server\\a",
  "\\\\?\\C:\\a",
  "C:a",
  "C:\\a.txt.",
  "C:\\a.txt::$DATA",
  "C:\\PROGRA~1",
  "https://example.com/a",
  "file:///home/..%2fa",
  "file://server/a",
  "/home/u\u0308",
])("%j can be read in more than one way", (text) => {
  expect(readPath(text)).toBeUndefined();
});

describe("a condition on a path", () => {
  const decide = async (effect: PolicyEffect, condition: ArgumentTest, path: unknown) => {
    const otherwise = effect === "allow" ? "deny" : "allow";
    const rule = { effect, tool: "read", args: { "/path": condition } };
    const { decide } = await readPolicy({ default: otherwise, rules: [rule] });
    return (await decide({ method: "tools/call", server: "files", tool: "read", args: { path } })).effect;
  };

  test.each<[PolicyEffect, ArgumentTest, unknown, PolicyEffect]>([
    ["allow", { path: true, glob: "/home/*" }, "/home/x/../a", "allow"],
    ["allow", { path: true, glob: "/home/*" }, "/home/../etc/passwd", "deny"],
    ["allow", { path: true, glob: "/home/*" }, "/home/~", "allow"],
    ["allow", { path: true, glob: "/home/*" }, "/home/..%2f", "deny"],
    ["allow", { path: true, glob: "/home/*" }, ["/home/a", "/home/b/.."], "deny"],
    ["allow", { path: true, glob: "*" }, ["/home/a", "~"], "deny"],
    ["allow", { path: true, glob: "*", match: "some" }, ["/home/a", "~"], "deny"],
    ["deny", { path: true, glob: "/etc/*" }, "/home/../etc//passwd", "deny"],
    ["deny", { path: true, glob: "/etc/*" }, "file:///etc/passwd", "deny"],
    ["deny", { path: true, glob: "/etc/*" }, "/home/a", "allow"],
    ["deny", { path: true, glob: "/etc/*" }, "~/a", "deny"],
    ["deny", { path: true, glob: "/etc/*", match: "every" }, ["/home/a", "~/a"], "deny"],
    // A server that decodes, and one on Windows.
    ["deny", { path: true, glob: "/secret" }, "/%73ecret", "deny"],
    ["deny", { path: true, glob: "/secret" }, "/public/../%73e%63ret/.", "deny"],
    ["deny", { path: true, glob: "/etc/*" }, "%7e/x", "deny"],
    ["deny", { path: true, glob: "C:/secret" }, "c%3a/secret", "deny"],
    ["deny", { path: true, glob: "*.env" }, "app/.env::$DATA", "deny"],
    ["deny", { path: true, glob: "/secret.txt" }, "\\secret.txt. .", "deny"],
    ["deny", { path: true, equals: "/docs/secret" }, "/docs./secret", "deny"],
    ["allow", { path: true, not: "/secret" }, "/%73ecret", "deny"],
    ["allow", { path: true, glob: "/home/*" }, "/home/a%20b", "allow"],
    ["allow", { path: true, glob: "/home/*" }, "/home/a%0ab", "deny"],
    ["allow", { path: true, glob: "*", match: "some" }, ["/a%0a", "b"], "deny"],
    ["allow", { path: true, glob: "/home/*.log" }, "/home/10:30.log", "allow"],
    ["allow", { path: true, not: "*.env" }, "/app/.env::$data", "deny"],
    ["deny", { path: true, glob: "/app/x" }, "/app:$I30:$INDEX_ALLOCATION/x", "deny"],
    ["deny", { path: true, glob: "C:/app/x" }, "C:/app/x", "deny"],
    ["approve", { path: true, equals: "/etc" }, "/etc/", "approve"],
    ["deny", { path: true, not: "/home/*" }, "/home/../etc", "deny"],
    ["deny", { path: true, not: { glob: "/home/*" } }, "/home/./a", "allow"],
    ["deny", { path: true, not: "/home/*" }, "~", "deny"],
    ["allow", { path: true, not: "/etc/*" }, "~", "deny"],
    ["deny", { path: true, regex: "^/etc/" }, "/./etc/x", "deny"],
    ["deny", { path: true, glob: "c:/windows/*", ignoreCase: true }, "C:\\Windows\\x", "deny"],
  ])("%s %j: %j is %s", async (effect, condition, path, expected) => {
    expect(await decide(effect, condition, path)).toBe(expected);
  });

  test.each<[ArgumentTest, string]>([
    [{ path: true }, "has no effect without"],
    [{ path: true, min: 1 }, "has no effect without"],
    [{ glob: "/a", not: { path: true, glob: "/b" } }, 'has no effect inside "not"'],
    [{ path: true, glob: "/home/../etc/*" }, "matches no path"],
    [{ path: true, glob: ["/ok", "C:\\Users\\*"] }, "matches no path"],
    [{ path: true, glob: "/home/" }, "matches no path"],
    [{ path: true, glob: "~/*" }, "matches no path"],
    [{ path: true, not: "/home//*" }, "matches no path"],
    [{ path: true, equals: "./a" }, "matches no path"],
    [{ path: true, glob: "/my%20files/*" }, "matches no path"],
  ])("%j is a mistake", async (condition, message) => {
    await expect(decide("deny", condition, "/a")).rejects.toThrow(message);
  });
});
