import { expect, test, vi } from "vitest";
import { guardLogger, silentLogger } from "./logger.js";

test("a message becomes one line without hidden characters; details stay unchanged", () => {
  const warn = vi.fn();
  guardLogger({ ...silentLogger, warn }).warn("Tool a\u00ad\n[s] forged", { raw: "b\n" });
  expect(warn.mock.calls).toEqual([["Tool a\\xad\\n[s] forged", { raw: "b\n" }]]);
});

test("errors of the logger are ignored", () => {
  const error = () => {
    throw new Error("full");
  };
  expect(() => guardLogger({ ...silentLogger, error }).error("x")).not.toThrow();
});
