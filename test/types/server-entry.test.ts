import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import { describe, expectTypeOf, test } from "vitest";
import type { LoadedConfig } from "../../packages/config/src/index.js";
import type { HttpServerEntry, ServerEntry } from "../../packages/core/src/config/server-entry.js";
import { createToolport } from "../../packages/toolport/src/index.js";

declare const provider: AuthProvider;
declare const oauthProvider: OAuthClientProvider;
declare const makeTransport: () => Promise<Transport>;

/** Only compiled: valid entries. */
const written = () =>
  ({
    files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] },
    weather: { url: "https://example.com/mcp", headers: { Authorization: "Bearer …" } },
    "weather-eu": { url: "https://eu.example.com/mcp" },
    quarkus: { transport: "websocket", url: "ws://localhost:8080/mcp/ws" },
    claudeCode: { type: "ws", url: "ws://localhost:8080/mcp/ws" },
    time: { transport: "docker", image: "mcp/time", dockerHost: "unix:///var/run/docker.sock" },
    old: { transport: "sse", url: "https://example.com/sse", reconnect: { maxAttempts: 5, delayMs: 2_000 } },
    older: { sseUrl: "http://localhost:3001/sse", logEvents: true, logRequests: true, logResponses: true },
    elixir: { transport: "streamable_http", base_url: "http://localhost:5000", endpoint: "/mcp" },
    math: { transport: "stdio", command: "npx", restart: { enabled: true, maxAttempts: 3, delayMs: 1_000 } },
    fresh: { url: new URL("https://example.com/mcp"), headers: async () => ({ Authorization: "Bearer …" }) },
    token: { type: "http", url: "https://example.com/mcp", authProvider: provider },
    oauth: { url: "https://example.com/mcp", authProvider: oauthProvider, automaticSSEFallback: false },
    pinned: { command: "server", protocol: { pin: "2025-06-18" }, timeoutMs: Number.POSITIVE_INFINITY },
    own: { transport: makeTransport, enabled: false },
  }) satisfies Record<string, ServerEntry>;

describe("a server entry", () => {
  test("accepts every documented form", () => {
    expectTypeOf(written).returns.toExtend<Record<string, ServerEntry>>();
    expectTypeOf<LoadedConfig["mcpServers"]>().toEqualTypeOf<Record<string, ServerEntry>>();
  });

  test("rejects everything else", () => {
    expectTypeOf<{ command: number }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ transport: "carrier-pigeon"; url: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ command: string; protocol: "modern" }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ url: string; headers: { Authorization: number } }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ image: string; args: string }>().not.toExtend<ServerEntry>();
  });

  test("has exactly one way to reach the server", () => {
    expectTypeOf<Record<never, never>>().not.toExtend<ServerEntry>();
    expectTypeOf<{ timeoutMs: number }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ transport: "http" }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ endpoint: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ url: string; command: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ url: string; image: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ command: string; image: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ url: string; sseUrl: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ url: string; endpoint: string }>().not.toExtend<ServerEntry>();
    expectTypeOf<{ transport: typeof makeTransport; command: string }>().not.toExtend<ServerEntry>();
    // @ts-expect-error an empty entry has no server
    const empty: ServerEntry = {};
    // @ts-expect-error a server is a process or has a URL
    const both: ServerEntry = { url: "https://example.com/mcp", command: "npx" };
    const ports = () => [
      // @ts-expect-error the same in the options of a port
      createToolport({ mcpServers: { empty: {} } }),
      // @ts-expect-error and here
      createToolport({ mcpServers: { both: { url: "https://example.com/mcp", command: "npx" } } }),
    ];
    expectTypeOf([empty, both, ports]).not.toBeNever();
  });

  test("has a defined URL when it is typed as an HTTP entry", () => {
    expectTypeOf<HttpServerEntry["url"]>().toEqualTypeOf<string | URL>();
  });
});
