import { expect, test } from "vitest";
import { parseServerEntry } from "./parse-servers.js";
import { configIdentity } from "./server-config.js";

const identify = (entry: unknown, name = "s") => configIdentity(parseServerEntry(name, entry));
const transport = () => ({ start: async () => {}, send: async () => {}, close: async () => {} });

test.each([
  [{ url: "https://example.com/mcp" }, "http:https://example.com/mcp"],
  [{ sseUrl: "https://example.com/sse" }, "sse:https://example.com/sse"],
  [{ url: "ws://localhost:8080/mcp" }, "websocket:ws://localhost:8080/mcp"],
  [{ transport }, "custom:s"],
])("%j is %s", (entry, expected) => {
  expect(identify(entry)).toBe(expected);
});

test.each([
  [{ url: "https://example.com/mcp" }, { url: "HTTPS://EXAMPLE.com:443/mcp#x", headers: { A: "b" } }],
  [{ base_url: "http://localhost" }, { url: "http://localhost/mcp", timeoutMs: 5 }],
  [
    { command: "npx", args: ["a"] },
    { type: "local", command: "npx", args: ["a"], env: { A: "b" } },
  ],
  [{ image: "mcp/time" }, { image: "mcp/time", env: { A: "b" }, runArgs: ["--network=none"] }],
])("%j and %j are the same server", (left, right) => {
  expect(identify(left, "one")).toBe(identify(right, "other"));
});

test.each([
  [{ url: "https://example.com/mcp" }, { url: "https://example.com/mcp/" }],
  [{ url: "https://example.com/mcp?a=1" }, { url: "https://example.com/mcp?a=2" }],
  [{ url: "https://example.com/mcp" }, { sseUrl: "https://example.com/mcp" }],
  [
    { command: "npx", args: ["a b"] },
    { command: "npx", args: ["a", "b"] },
  ],
  [{ command: "npx" }, { command: "npx", cwd: "/srv" }],
  [{ image: "mcp/time" }, { image: "mcp/time", args: ["--local"] }],
])("%j and %j are different servers", (left, right) => {
  expect(identify(left)).not.toBe(identify(right));
});

test.each([
  [{ url: "https://example.com/mcp?key=CANARY", headers: { A: "CANARY" } }],
  [{ command: "npx", args: ["--token=CANARY"], env: { A: "CANARY" } }],
  [{ image: "mcp/time", args: ["CANARY"], env: { A: "CANARY" } }],
])("the identity of %j contains no secrets", (entry) => {
  expect(identify(entry)).not.toContain("CANARY");
});
