/** Options of a server entry for its tools and calls. */

import { ConfigError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { parseServers } from "./parse-servers.js";

const command = "npx";
const read = (entry: object, others: object = {}) =>
  parseServers({ s: { command, ...entry }, ...others }).get("s")!;
const problems = (entry: object): string[] => {
  try {
    read(entry);
    return [];
  } catch (error) {
    return (error as ConfigError).issues.map(({ path, message }) => `${path}: ${message}`);
  }
};

describe("fallback", () => {
  const others = { b: { command }, c: { command } };
  const whole = { tools: {}, when: "transient" };

  test.each([
    ["b", { ...whole, servers: ["b"] }],
    [["b", "c"], { ...whole, servers: ["b", "c"] }],
    [
      { servers: "b", tools: { x: "y" }, when: "unsent" },
      { servers: ["b"], tools: { x: "y" }, when: "unsent" },
    ],
  ])("%j", (fallback, expected) => {
    expect(read({ fallback }, others).fallback).toEqual(expected);
  });

  test("an unknown server is rejected, with a suggestion", () => {
    expect(() => parseServers({ a: { command, fallback: "weater" }, weather: { command } })).toThrow(
      /mcpServers\.a\.fallback: names "weater".*did you mean "weather"/s,
    );
  });

  test("a server cannot be its own fallback", () => {
    expect(problems({ fallback: "s" })).toEqual(["mcpServers.s.fallback: names the server itself"]);
  });
});

describe("cache, limits, filters", () => {
  test("are copied to the configuration", () => {
    const filter = () => true;
    const config = read({
      cache: { ttlMs: 5 },
      concurrency: 2,
      rateLimit: { perSecond: 3 },
      only: ["a*"],
      except: "b",
      filter,
    });
    expect(config).toMatchObject({
      cache: { ttlMs: 5 },
      concurrency: 2,
      only: ["a*"],
      except: ["b"],
      filter,
    });
    expect(config.rateLimit).toMatchObject({ perSecond: 3 });
  });

  test.each([
    [{ cache: 5 }, "mcpServers.s.cache"],
    [{ cache: {} }, "mcpServers.s.cache"],
    [{ concurrency: 0 }, "mcpServers.s.concurrency"],
    [{ rateLimit: { perSecond: 0 } }, "mcpServers.s.rateLimit.perSecond"],
    [{ only: [1] }, "mcpServers.s.only[0]"],
    [{ filter: "x" }, "mcpServers.s.filter"],
    [{ fallback: { when: "never" } }, "mcpServers.s.fallback.servers"],
    [{ trustAnnotations: "yes" }, "mcpServers.s.trustAnnotations"],
  ])("%j is rejected", (entry, path) => {
    expect(problems(entry).some((problem) => problem.startsWith(path))).toBe(true);
    expect(() => read(entry)).toThrow(ConfigError);
  });
});
