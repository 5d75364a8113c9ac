import { expect, test } from "vitest";
import { type AiSdkToolsOptions, checkOptions } from "./tools-options.js";

const problem = (options: AiSdkToolsOptions, version: 5 | 6 | 7): unknown => {
  try {
    checkOptions(options, version);
    return undefined;
  } catch (error) {
    return error;
  }
};

test.each([
  [{ deferred: "native" }, 'does not support deferred: "native"'],
  [{ deferred: "client" }, 'does not support deferred: "client"'],
  [{ deferred: "sdk" }, 'does not support deferred: "sdk"'],
  [{ allowedCallers: ["direct"] }, "does not support allowedCallers"],
] as const)("ai 5 would ignore %j, so it is an error", (options, message) => {
  expect(problem(options, 5)).toMatchObject({
    name: "ConfigError",
    code: "INVALID_CONFIG",
    message: expect.stringMatching(new RegExp(`${message}.*Install ai 6 or later`)),
  });
  expect(problem(options, 6)).toBeUndefined();
});

test("the default works with every version", () => {
  for (const version of [5, 6, 7] as const) {
    expect(problem({}, version)).toBeUndefined();
    expect(problem({ deferred: "own" }, version)).toBeUndefined();
  }
});
