import {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  InsufficientScopeError,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as OldUnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { SseError as OldSseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { ProtocolError as ServerProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { toToolportError } from "./to-toolport-error.js";
import { AuthError, ConnectionError, ToolCallError, ToolportError } from "./toolport-error.js";

const context = { server: "weather", tool: "forecast", phase: "call" };
const code = SdkErrorCode;
const http = (status: number, sdkCode = code.ClientHttpNotImplemented) =>
  new SdkHttpError(sdkCode, "Error POSTing to endpoint: CANARY", { status, text: "CANARY" });
const system = (errno: string, syscall?: string) =>
  Object.assign(new Error(`${syscall} ${errno}`), { code: errno, syscall });
const fetchFailed = (cause: unknown) => new TypeError("fetch failed", { cause });

describe.each<[string, unknown, new (...init: never[]) => ToolportError, Record<string, unknown>]>([
  [
    "a timeout",
    new SdkError(code.RequestTimeout, "Request timed out", { timeout: 60_000 }),
    ToolCallError,
    { code: "TIMEOUT", phase: "call", retryable: true, outcome: "unknown" },
  ],
  [
    "a closed connection",
    new SdkError(code.ConnectionClosed, ""),
    ConnectionError,
    { code: "CLOSED", retryable: true, outcome: "unknown" },
  ],
  [
    "no connection",
    new SdkError(code.NotConnected, ""),
    ConnectionError,
    { code: "CLOSED", retryable: true, outcome: "unsent" },
  ],
  [
    "HTTP 401",
    http(401, code.ClientHttpAuthentication),
    AuthError,
    { code: "AUTH_REQUIRED", status: 401, retryable: false },
  ],
  [
    "HTTP 403",
    http(403, code.ClientHttpForbidden),
    AuthError,
    { code: "FORBIDDEN", status: 403, retryable: false },
  ],
  ["HTTP 302", http(302), ConnectionError, { code: "HTTP_STATUS", status: 302, retryable: false }],
  [
    "HTTP 400",
    http(400),
    ConnectionError,
    { code: "HTTP_STATUS", status: 400, retryable: false, outcome: "unknown" },
  ],
  [
    "HTTP 404",
    http(404),
    ConnectionError,
    { code: "HTTP_STATUS", status: 404, retryable: false, outcome: "unknown" },
  ],
  [
    "HTTP 429",
    http(429),
    ConnectionError,
    { code: "HTTP_STATUS", status: 429, retryable: true, outcome: "unsent" },
  ],
  [
    "HTTP 503",
    http(503),
    ConnectionError,
    { code: "HTTP_STATUS", status: 503, retryable: true, outcome: "unknown" },
  ],
  [
    "HTTP 500 during negotiation",
    http(500, code.EraNegotiationFailed),
    ConnectionError,
    { code: "HTTP_STATUS", status: 500 },
  ],
  [
    "HTTP 405 of the event stream",
    new SseError(405, "no", {} as never),
    ConnectionError,
    { code: "HTTP_STATUS", status: 405 },
  ],
  [
    "a lost event stream",
    new SseError(undefined, "no", {} as never),
    ConnectionError,
    { code: "UNREACHABLE", retryable: true },
  ],
  [
    "a strange content type",
    new SdkError(code.ClientHttpUnexpectedContent, ""),
    ConnectionError,
    { code: "BAD_RESPONSE" },
  ],
  [
    "no agreement",
    new SdkError(code.EraNegotiationFailed, "no"),
    ConnectionError,
    { code: "HANDSHAKE_FAILED", retryable: false, outcome: "unsent" },
  ],
  [
    "no agreement because of the network",
    new SdkError(code.EraNegotiationFailed, "no", { cause: fetchFailed(system("ECONNREFUSED", "connect")) }),
    ConnectionError,
    { code: "UNREACHABLE", errno: "ECONNREFUSED", outcome: "unsent" },
  ],
  [
    "no agreement because of a ToolportError",
    new SdkError(code.EraNegotiationFailed, "no", undefined, {
      cause: new ConnectionError({ code: "MESSAGE_TOO_LARGE", what: "Too large" }),
    }),
    ConnectionError,
    { code: "MESSAGE_TOO_LARGE" },
  ],
  [
    "an invalid result",
    new SdkError(code.InvalidResult, ""),
    ToolCallError,
    { code: "PROTOCOL", retryable: false, outcome: "unknown" },
  ],
  [
    "an unknown result type",
    new SdkError(code.UnsupportedResultType, "", { resultType: "x" }),
    ToolCallError,
    { code: "PROTOCOL", data: { resultType: "x" } },
  ],
  [
    "a missing capability",
    new SdkError(code.CapabilityNotSupported, ""),
    ToolCallError,
    { code: "PROTOCOL", outcome: "unsent" },
  ],
  [
    "an unknown SDK error",
    new SdkError(code.AlreadyConnected, ""),
    ToolportError,
    { code: "UNEXPECTED", retryable: false },
  ],
  ["unauthorized", new UnauthorizedError(), AuthError, { code: "AUTH_REQUIRED", outcome: "unsent" }],
  [
    "missing scopes",
    new InsufficientScopeError({ requiredScope: "x" }),
    AuthError,
    { code: "INSUFFICIENT_SCOPE" },
  ],
  [
    "a wrong issuer",
    new IssuerMismatchError("metadata", "a", "CANARY"),
    AuthError,
    { code: "ISSUER_MISMATCH" },
  ],
  [
    "another authorization server",
    new AuthorizationServerMismatchError("a", "CANARY"),
    AuthError,
    { code: "ISSUER_MISMATCH" },
  ],
  [
    "a refused registration",
    new RegistrationRejectedError({ status: 400, body: "CANARY", submittedMetadata: { redirect_uris: [] } }),
    AuthError,
    { code: "AUTH_FAILED", status: 400 },
  ],
  [
    "an open token endpoint",
    new InsecureTokenEndpointError("http://x/?CANARY"),
    AuthError,
    { code: "AUTH_FAILED" },
  ],
  [
    "a refused grant",
    new OAuthError(OAuthErrorCode.InvalidGrant, "CANARY"),
    AuthError,
    { code: "AUTH_FAILED", retryable: false },
  ],
  [
    "a busy authorization server",
    new OAuthError(OAuthErrorCode.TemporarilyUnavailable, ""),
    AuthError,
    { code: "AUTH_FAILED", retryable: true },
  ],
  [
    "-32700",
    new ProtocolError(-32700, "Parse error"),
    ToolCallError,
    { code: "PROTOCOL", rpcCode: -32700, retryable: false, outcome: "unsent" },
  ],
  [
    "-32600",
    new ProtocolError(-32600, "Invalid request"),
    ToolCallError,
    { rpcCode: -32600, retryable: false, outcome: "unknown" },
  ],
  [
    "-32601",
    new ProtocolError(-32601, "Method not found"),
    ToolCallError,
    { rpcCode: -32601, retryable: false, outcome: "unsent" },
  ],
  [
    "-32602",
    new ProtocolError(-32602, "Invalid params", { a: 1 }),
    ToolCallError,
    { rpcCode: -32602, data: { a: 1 }, retryable: false, outcome: "unknown" },
  ],
  [
    "-32603",
    new ProtocolError(-32603, "Internal error"),
    ToolCallError,
    { rpcCode: -32603, retryable: true, outcome: "unknown" },
  ],
  [
    "-32000 from a server",
    new ProtocolError(-32000, "x"),
    ToolCallError,
    { code: "PROTOCOL", rpcCode: -32000, retryable: false },
  ],
  [
    "-32001 from a server",
    new ProtocolError(-32001, "x"),
    ToolCallError,
    { code: "PROTOCOL", rpcCode: -32001, retryable: false },
  ],
  [
    "a custom code of the server",
    new ProtocolError(42, "x"),
    ToolCallError,
    { code: "PROTOCOL", rpcCode: 42, retryable: false },
  ],
  [
    "an error of the server package",
    new ServerProtocolError(-32603, "x"),
    ToolCallError,
    { code: "PROTOCOL", retryable: true },
  ],
  [
    "a bare JSON-RPC error",
    { code: -32601, message: "Method not found" },
    ToolCallError,
    { code: "PROTOCOL", rpcCode: -32601 },
  ],
  [
    "an old timeout",
    new McpError(-32001, "Request timed out", { timeout: 5 }),
    ToolCallError,
    { code: "TIMEOUT", retryable: true },
  ],
  [
    "an old lost session",
    new McpError(-32001, "Session not found"),
    ToolCallError,
    { code: "PROTOCOL", retryable: false },
  ],
  [
    "an old closed connection",
    new McpError(-32000, "Connection closed"),
    ConnectionError,
    { code: "CLOSED", retryable: true },
  ],
  [
    "an old -32603",
    new McpError(-32603, "x"),
    ToolCallError,
    { code: "PROTOCOL", rpcCode: -32603, retryable: true },
  ],
  ["old unauthorized", new OldUnauthorizedError(), AuthError, { code: "AUTH_REQUIRED" }],
  [
    "an old HTTP 404",
    new StreamableHTTPError(404, "x"),
    ConnectionError,
    { code: "HTTP_STATUS", status: 404 },
  ],
  [
    "an old HTTP 401",
    new OldSseError(401, "x", {} as never),
    AuthError,
    { code: "AUTH_REQUIRED", status: 401 },
  ],
  ["an abort", new DOMException("x", "AbortError"), ToolportError, { code: "ABORTED", retryable: false }],
  ["a timeout signal", new DOMException("x", "TimeoutError"), ToolCallError, { code: "TIMEOUT" }],
  ["a missing file", system("ENOENT", "open"), ToolportError, { code: "UNEXPECTED" }],
  ["any error", new Error("x"), ToolportError, { code: "UNEXPECTED", retryable: false, outcome: "unknown" }],
  ["a string", "x", ToolportError, { code: "UNEXPECTED" }],
  ["nothing", undefined, ToolportError, { code: "UNEXPECTED" }],
])("%s", (_name, error, type, expected) => {
  const converted = toToolportError(error, context);

  test("is converted", () => {
    expect(converted).toBeInstanceOf(type);
    expect(converted).toMatchObject({ ...expected, server: "weather", tool: "forecast" });
    expect(converted.message.startsWith("[weather/forecast] ")).toBe(true);
  });

  test("contains no secrets", () => expect(converted.message).not.toContain("CANARY"));

  test("in the phase connect has the outcome unsent", () => {
    expect(toToolportError(error, { phase: "connect" }).outcome).toBe(
      converted.code === "ABORTED" ? "unknown" : "unsent",
    );
  });
});

test("an error response to the handshake becomes HANDSHAKE_FAILED", () => {
  const refusal = new UnsupportedProtocolVersionError({ supported: ["2030-01-01"], requested: "2026-07-28" });
  const converted = toToolportError(refusal, { server: "a", phase: "connect" });
  expect(converted).toMatchObject({ name: "ConnectionError", code: "HANDSHAKE_FAILED", cause: refusal });
});

test("values that throw on access are converted", () => {
  const circle = new Error("x");
  circle.cause = circle;
  expect(toToolportError(circle).code).toBe("UNEXPECTED");
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error("trap");
      },
    },
  );
  expect(toToolportError(throwing).code).toBe("UNEXPECTED");
});

test("a brand on a prototype is ignored", () => {
  const fake = Object.create({ [Symbol.for("mcp.sdk.errorBrands")]: new Set(["mcp.UnauthorizedError"]) });
  expect(toToolportError(fake).code).toBe("UNEXPECTED");
});
