import { describe, expect, test } from "vitest";
import { fromRpcError, traitsOfRpcError } from "./foreign-error.js";

const convert = (code: number, message = "No", phase = "call") =>
  fromRpcError({ code, message, data: { hint: 1 } }, undefined, { server: "weather", phase });

describe("a JSON-RPC code", () => {
  const around = (code: number) => [code - 1, code, code + 1];
  const CODES = [-32700, -32601, -32603, -32602, -32600, -32020, -32021, -32022, -32000].flatMap(around);

  test("refuses the request before any work for these and no others", () => {
    const refusing = new Set(CODES.filter((code) => convert(code).outcome === "unsent"));
    expect(refusing).toEqual(new Set([-32700, -32601, -32020, -32021, -32022]));
  });

  test("is worth another attempt for -32603 only", () => {
    const retryable = new Set(CODES.filter((code) => convert(code).retryable));
    expect(retryable).toEqual(new Set([-32603]));
  });

  test("that is missing says nothing", () => {
    expect(traitsOfRpcError(undefined)).toEqual({ outcome: "unknown", retryable: false });
  });
});

test("keeps the server's message without its last full stop", () => {
  expect(convert(-32602, "Wrong city. ").what).toBe("The server answered with error -32602: Wrong city");
});

test("leaves out an empty message", () => {
  expect(convert(-32602, " . ").what).toBe("The server answered with error -32602");
});

test("keeps code and data of the server", () => {
  expect(convert(-32602)).toMatchObject({ code: "PROTOCOL", rpcCode: -32602, data: { hint: 1 } });
});

test("is a failed handshake during connect, and nothing was sent", () => {
  const error = convert(-32603, "No", "connect");
  expect(error).toMatchObject({ code: "HANDSHAKE_FAILED", outcome: "unsent", retryable: true });
  expect(error.what).toContain("error -32603: No");
});
