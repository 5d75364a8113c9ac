/** `DEBUG` patterns as in the `debug` package. */
import { afterEach, expect, test, vi } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { debugChannel, isChannelEnabled } from "./logger.js";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ["", false],
  ["*", true],
  ["toolport:*", true],
  ["toolport:wire", true],
  ["toolport:call", false],
  ["toolport", false],
  ["express:*,toolport:wire", true],
  ["express:* toolport:wire", true],
  [" , toolport:wire ,", true],
  ["toolport:*,-toolport:wire", false],
  ["-toolport:wire,toolport:*", false],
  ["toolport:*,-toolport:call", true],
  ["*,-*", false],
  ["toolport.wire", false],
  ["tool*:wi*", true],
  ["toolport:(wire", false],
  ["toolport:wire+", false],
  ["[", false],
])("DEBUG=%s", (patterns, expected) => {
  expect(isChannelEnabled("toolport:wire", patterns)).toBe(expected);
});

test("a long pattern of wildcards is matched in linear time", () => {
  const started = cpuTimeMs();
  isChannelEnabled(`toolport:${"a".repeat(60)}`, `${"*a".repeat(12)}b`);
  expect(cpuTimeMs() - started).toBeLessThan(10_000);
});

test("an enabled channel writes one line with its name to stderr", () => {
  vi.stubEnv("DEBUG", "toolport:connection");
  const write = vi.spyOn(console, "error").mockImplementation(() => {});
  const channel = debugChannel("connection");
  expect(channel.enabled).toBe(true);
  channel("ready");
  channel("a\n\u200btoolport:connection forged");
  expect(write.mock.calls).toEqual([
    ["toolport:connection ready"],
    ["toolport:connection a\\n\\u{200b}toolport:connection forged"],
  ]);
});

test("a disabled channel writes nothing", () => {
  vi.stubEnv("DEBUG", "other:*");
  const write = vi.spyOn(console, "error").mockImplementation(() => {});
  const channel = debugChannel("call");
  channel("anything");
  expect(channel.enabled).toBe(false);
  expect(write).not.toHaveBeenCalled();
});

test.each([
  ["@langchain/mcp-adapters:*", ["connection", "catalog", "call", "auth"]],
  ["@langchain/mcp-adapters:client", ["connection", "auth"]],
  ["@langchain/mcp-adapters:tools", ["catalog", "call"]],
  ["@langchain/mcp-adapters:*,-@langchain/mcp-adapters:tools", ["connection", "auth"]],
])("DEBUG=%s enables the corresponding channels of LangChain's adapters", (patterns, expected) => {
  vi.stubEnv("DEBUG", patterns);
  const channels = ["connection", "catalog", "call", "auth", "wire"] as const;
  expect(channels.filter((name) => debugChannel(name).enabled)).toEqual(expected);
});
