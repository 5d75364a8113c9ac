import { describe, expectTypeOf, test } from "vitest";
/** Only compiled: what a user may write. */
const written = () => ({
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
});
describe("a server entry", () => {
    test("takes every documented shape", () => {
        expectTypeOf(written).returns.toExtend();
        expectTypeOf().toEqualTypeOf();
    });
    test("takes nothing else", () => {
        expectTypeOf().not.toExtend();
        expectTypeOf().not.toExtend();
        expectTypeOf().not.toExtend();
        expectTypeOf().not.toExtend();
        expectTypeOf().not.toExtend();
    });
});
