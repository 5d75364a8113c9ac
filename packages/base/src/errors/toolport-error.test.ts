import { expect, test } from "vitest";
import { toToolportError } from "./to-toolport-error.js";
import { ConnectionError } from "./toolport-error.js";

test("a ToolportError in the phase connect keeps its class and gets the outcome unsent", () => {
  const ended = new ConnectionError({ code: "SPAWN_FAILED", what: "It exited", exitCode: 1, server: "a" });
  const converted = toToolportError(ended, { server: "a", phase: "connect" });
  expect(converted).toBeInstanceOf(ConnectionError);
  expect(converted).toMatchObject({ code: "SPAWN_FAILED", exitCode: 1, server: "a", outcome: "unsent" });
  expect(ended.outcome).toBe("unknown");
});
