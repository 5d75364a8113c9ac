import { expect, test, vi } from "vitest";
import { guardLogger, silentLogger } from "./logger.js";

test("a message is one line with nothing hidden in it; details stay as they are", () => {
  const warn = vi.fn();
  guardLogger({ ...silentLogger, warn }).warn("Tool a\u00ad\n[s] forged", { raw: "b\n" });
  expect(warn.mock.calls).toEqual([["Tool a\\xad\\n[s] forged", { raw: "b\n" }]]);
});

test("a logger that throws is left alone", () => {
  const error = () => {
    throw new Error("full");
  };
  expect(() => guardLogger({ ...silentLogger, error }).error("x")).not.toThrow();
});
