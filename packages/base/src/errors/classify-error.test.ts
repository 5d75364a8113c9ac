import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as OldUnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import {
  classifyError,
  type ErrorType,
  isTransportNotImplemented,
  isUnauthorized,
  shouldRetry,
} from "./classify-error.js";
import {
  AuthError,
  CatalogError,
  ConfigError,
  ConnectionError,
  ToolCallError,
  ToolportError,
} from "./toolport-error.js";

const http = (status: number) =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "Error POSTing to endpoint", { status });
const refused = Object.assign(new Error("no"), { code: "ECONNREFUSED", syscall: "connect" });
const unreachable = new ConnectionError({ code: "UNREACHABLE", what: "x", retryable: true });

describe("classifyError", () => {
  test.each<[string, unknown, ErrorType, string, retryable: boolean, useFallback: boolean]>([
    ["a parse error", new ProtocolError(-32700, "x"), "protocol", "PROTOCOL", false, false],
    ["an invalid request", new ProtocolError(-32600, "x"), "protocol", "PROTOCOL", false, false],
    ["an unknown method", new ProtocolError(-32601, "x"), "protocol", "PROTOCOL", false, false],
    ["invalid parameters", new ProtocolError(-32602, "x"), "protocol", "PROTOCOL", false, false],
    ["an internal error", new ProtocolError(-32603, "x"), "protocol", "PROTOCOL", true, true],
    ["-32000", new ProtocolError(-32000, "x"), "protocol", "PROTOCOL", false, false],
    ["-32002", new ProtocolError(-32002, "x"), "protocol", "PROTOCOL", false, false],
    ["-32099", new ProtocolError(-32099, "x"), "protocol", "PROTOCOL", false, false],
    ["a JSON-RPC error object", { code: -32603, message: "x" }, "protocol", "PROTOCOL", true, true],
    ["a timeout", new SdkError(SdkErrorCode.RequestTimeout, "x"), "transport", "TIMEOUT", true, true],
    [
      "a closed connection",
      new SdkError(SdkErrorCode.ConnectionClosed, "x"),
      "transport",
      "CLOSED",
      true,
      true,
    ],
    ["a refused connection", refused, "transport", "UNREACHABLE", true, true],
    ["HTTP 503", http(503), "transport", "HTTP_STATUS", true, true],
    ["HTTP 404", http(404), "transport", "HTTP_STATUS", false, true],
    ["HTTP 401", http(401), "auth", "AUTH_REQUIRED", false, false],
    ["unauthorized", new UnauthorizedError(), "auth", "AUTH_REQUIRED", false, false],
    ["an abort", new DOMException("x", "AbortError"), "cancelled", "ABORTED", false, false],
    ["a signal's reason", AbortSignal.abort().reason, "cancelled", "ABORTED", false, false],
    [
      "too large",
      new ConnectionError({ code: "MESSAGE_TOO_LARGE", what: "x" }),
      "transport",
      "MESSAGE_TOO_LARGE",
      false,
      false,
    ],
    [
      "an unknown tool",
      new CatalogError({ code: "TOOL_NOT_FOUND", what: "x" }),
      "domain",
      "TOOL_NOT_FOUND",
      false,
      false,
    ],
    [
      "a failed discovery",
      new CatalogError({ code: "DISCOVERY_FAILED", what: "x", cause: unreachable }),
      "transport",
      "DISCOVERY_FAILED",
      false,
      true,
    ],
    [
      "wrong arguments",
      new ToolCallError({ code: "INVALID_ARGUMENTS", what: "x" }),
      "protocol",
      "INVALID_ARGUMENTS",
      false,
      false,
    ],
    [
      "refused by policy",
      new ToolCallError({ code: "REFUSED", what: "x" }),
      "domain",
      "REFUSED",
      false,
      false,
    ],
    [
      "all fallbacks failed",
      new ToolCallError({ code: "FALLBACK_EXHAUSTED", what: "x", attempts: [unreachable, unreachable] }),
      "transport",
      "FALLBACK_EXHAUSTED",
      false,
      true,
    ],
    [
      "different failures",
      new ToolportError({
        code: "SEVERAL",
        what: "x",
        errors: [unreachable, new AuthError({ code: "FORBIDDEN", what: "x" })],
      }),
      "unknown",
      "SEVERAL",
      false,
      false,
    ],
    [
      "a bad configuration",
      new ConfigError({ code: "INVALID_CONFIG" }),
      "unknown",
      "INVALID_CONFIG",
      false,
      false,
    ],
    ["any error", new Error("x"), "unknown", "UNEXPECTED", false, false],
    ["nothing", null, "unknown", "UNEXPECTED", false, false],
  ])("%s", (_name, error, type, code, retryable, useFallback) => {
    expect(classifyError(error)).toEqual({ type, code, retryable, useFallback, message: expect.any(String) });
    expect(shouldRetry(error)).toBe(retryable);
  });

  test("a result that reports an error", () => {
    const result = { isError: true, content: [{ type: "text", text: "File not found" }, { type: "image" }] };
    expect(classifyError(result)).toEqual({
      type: "domain",
      code: "TOOL_ERROR",
      retryable: false,
      useFallback: false,
      message: "File not found",
    });
    expect(classifyError({ isError: true }).message).toBe("The tool reported an error");
    expect(shouldRetry(result)).toBe(false);
  });
});

describe("isUnauthorized", () => {
  const required = new AuthError({ code: "AUTH_REQUIRED", what: "x" });
  test.each<[string, unknown, boolean]>([
    ["AUTH_REQUIRED", required, true],
    ["the SDK's error", new UnauthorizedError(), true],
    ["the old SDK's error", new OldUnauthorizedError(), true],
    ["HTTP 401", http(401), true],
    ["an old HTTP 401", new StreamableHTTPError(401, "x"), true],
    ["a status field", { status: 401 }, true],
    ["a cause", new Error("x", { cause: new UnauthorizedError() }), true],
    ["data.cause", new SdkError(SdkErrorCode.EraNegotiationFailed, "x", { cause: http(401) }), true],
    ["an AggregateError", new AggregateError([refused, required]), true],
    ["errors[]", new ToolportError({ code: "SEVERAL", what: "x", errors: [unreachable, required] }), true],
    ["attempts[]", new ToolCallError({ code: "FALLBACK_EXHAUSTED", what: "x", attempts: [required] }), true],
    ["HTTP 403", http(403), false],
    ["FORBIDDEN", new AuthError({ code: "FORBIDDEN", what: "x", status: 403 }), false],
    ["the word alone", new Error("401 Unauthorized"), false],
    ["nothing", undefined, false],
  ])("%s: %#", (_name, error, expected) => {
    expect(isUnauthorized(error)).toBe(expected);
  });
});

describe("isTransportNotImplemented", () => {
  const status = (value: number) => new ConnectionError({ code: "HTTP_STATUS", what: "x", status: value });
  test.each<[string, unknown, boolean]>([
    ["HTTP 404", http(404), true],
    ["HTTP 405", http(405), true],
    ["HTTP 501", http(501), true],
    ["an old HTTP 404", new StreamableHTTPError(404, "x"), true],
    ["a ConnectionError with HTTP 404", status(404), true],
    ["its own code", new ConnectionError({ code: "TRANSPORT_NOT_SUPPORTED", what: "x" }), true],
    ["a cause", new Error("x", { cause: http(405) }), true],
    [
      "attempts[]",
      new ConnectionError({ code: "HANDSHAKE_FAILED", what: "x", attempts: [status(405)] }),
      true,
    ],
    ["HTTP 400", http(400), false],
    ["HTTP 500", http(500), false],
    [
      "a lost session",
      new ConnectionError({ code: "SESSION_LOST", what: "x", status: 404, cause: http(404) }),
      false,
    ],
    ["unauthorized", new UnauthorizedError(), false],
    ["the words alone", new Error("404 Not Implemented"), false],
    ["nothing", null, false],
  ])("%s: %#", (_name, error, expected) => {
    expect(isTransportNotImplemented(error)).toBe(expected);
  });
});
