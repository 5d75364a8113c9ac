import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { SecretRecord } from "./known-secrets.js";
import { parseServerEntry, parseServers } from "./parse-servers.js";
import type { HttpConfig, StdioConfig } from "./server-config.js";

const url = "https://example.com/mcp";
const transport = () => ({ start: async () => {}, send: async () => {}, close: async () => {} });

test("the input is copied, the configuration frozen", () => {
  const entry = Object.freeze({
    command: "npx",
    args: ["a"],
    env: { A: "1" },
    protocol: { pin: "2025-06-18" },
    restart: { delayMs: 1 },
  });
  const before = JSON.stringify(entry);
  const config = parseServerEntry("s", entry) as StdioConfig;
  entry.args.push("b");
  entry.env.A = "2";
  entry.protocol.pin = "2024-11-05";
  expect(config).toMatchObject({ args: ["a"], protocol: { pin: "2025-06-18" } });
  expect(config.env.reveal()).toEqual({ A: "1" });
  expect(before).not.toBe(JSON.stringify(entry));
  for (const part of [
    config,
    config.args,
    config.reconnect,
    config.env,
    config.env.reveal(),
    config.protocol,
  ]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

describe("secrets", () => {
  class Provider {
    kept = "CANARY";
    async token() {
      return this.kept;
    }
  }
  const provider = new Provider();
  const createTransport = Object.assign(transport, { kept: "CANARY" });
  const configs = parseServers({
    http: { url: `${url}?key=CANARY`, headers: { Authorization: "CANARY" }, authProvider: provider },
    sse: { sseUrl: url, headers: Object.assign(() => ({}), { kept: "CANARY" }), authProvider: provider },
    stdio: { command: "npx", env: { TOKEN: "CANARY" } },
    docker: { image: "mcp/time", env: { TOKEN: "CANARY" } },
    custom: { transport: createTransport },
  });

  test.each([...configs])("%s shows no secrets", (_name, config) => {
    const shown = [
      inspect(config),
      inspect(config, { depth: Number.POSITIVE_INFINITY, showHidden: true }),
      inspect({ nested: [config] }, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true }),
      JSON.stringify(config),
      JSON.stringify({ nested: [config] }),
      String(config),
    ].join("\n");
    expect(shown).not.toContain("CANARY");
    expect(shown).toContain(config.kind);
  });

  test("a getter hides the provider even from a printer that ignores toJSON and inspect", () => {
    const { url: _url, ...rest } = Object.getOwnPropertyDescriptors(configs.get("http"));
    const bare = Object.defineProperties({}, rest);
    expect(inspect(bare, { depth: 9, showHidden: true, customInspect: false })).not.toContain("CANARY");
  });

  test("are available to the transport", () => {
    const config = configs.get("http") as HttpConfig;
    expect(config.authProvider).toBe(provider);
    expect({ ...config }.authProvider).toBe(provider);
    expect((config.headers as SecretRecord).reveal()).toEqual({ Authorization: "CANARY" });
    expect(inspect(config)).toContain("authProvider: '[auth provider]'");
    expect(inspect(config)).toContain("[redacted: Authorization]");
  });
});
