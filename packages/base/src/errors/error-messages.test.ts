import { describe, expect, test } from "vitest";
import { toToolportError } from "./to-toolport-error.js";
import { AuthError, ConfigError, ConnectionError, ToolportError } from "./toolport-error.js";

describe("a ToolportError", () => {
  const original = new ConnectionError({
    code: "SPAWN_FAILED",
    what: "It did not start",
    next: "Look at its output",
    exitCode: 3,
    stderrTail: "boom",
    cause: new Error("inner"),
  });

  test("gets missing names and keeps everything else", () => {
    const copy = toToolportError(original, { server: "a", tool: "b" });
    expect(copy).toBeInstanceOf(ConnectionError);
    expect(copy).not.toBe(original);
    expect(copy.message).toBe("[a/b] It did not start. Look at its output. (SPAWN_FAILED)");
    expect({ ...copy }).toEqual({ ...original, server: "a", tool: "b" });
    expect(copy.cause).toBe(original.cause);
    expect(copy.stack).toContain(copy.message);
    expect(copy.stack?.split("\n").slice(1)).toEqual(original.stack?.split("\n").slice(1));
    expect(Object.prototype.toString.call(copy)).toBe("[object Error]");
    expect(ToolportError.isInstance(copy)).toBe(true);
    expect(original.server).toBeUndefined();
  });

  test("stays the same object if no name is missing", () => {
    const named = new ToolportError({ code: "X", what: "x", server: "a", tool: "b" });
    expect(toToolportError(named, { server: "c", tool: "d" })).toBe(named);
    expect(toToolportError(original, {})).toBe(original);
  });

  test("does not get the tool of another server", () => {
    const named = new ToolportError({ code: "X", what: "x", server: "a" });
    expect(toToolportError(named, { server: "c", tool: "d" })).toBe(named);
    expect(toToolportError(named, { server: "a", tool: "d" }).tool).toBe("d");
  });

  test("of a subclass keeps its fields", () => {
    const config = new ConfigError({ code: "INVALID_CONFIG", issues: [{ path: "a", message: "b" }] });
    expect(toToolportError(config, { server: "a" })).toMatchObject({
      issues: config.issues,
      name: "ConfigError",
    });
  });

  test("is found as the cause of another error", () => {
    expect(toToolportError(new TypeError("fetch failed", { cause: original }))).toBe(original);
  });
});

test("a quoted message is redacted", () => {
  const error = new Error("GET https://u:CANARY@example.com/mcp?k=CANARY with Bearer CANARY failed.");
  expect(toToolportError(error).message).toBe(
    "An unexpected error occurred: GET https://example.com/mcp with Bearer [redacted] failed. (UNEXPECTED)",
  );
});

test("every class recognises only its own errors", () => {
  const auth = new AuthError({ code: "AUTH_REQUIRED", what: "x", authUrl: "https://example.com" });
  const config = new ConfigError({ code: "INVALID_CONFIG", what: "x" });
  expect([auth, config].map((error) => ToolportError.isInstance(error))).toEqual([true, true]);
  expect([auth, config].map((error) => AuthError.isInstance(error))).toEqual([true, false]);
  expect([auth, config].map((error) => ConfigError.isInstance(error))).toEqual([false, true]);
  // An error of another copy of the package.
  const foreign = Object.create(auth, { constructor: { value: class {} } });
  expect(AuthError.isInstance(foreign)).toBe(true);
  const unknown: unknown = auth;
  if (AuthError.isInstance(unknown)) expect(unknown.authUrl).toBe("https://example.com");
});
