/** Network errors: whether they are retryable, and whether the request may have been sent; and `Retry-After`. */
import { expect, it } from "vitest";
import { parseRetryAfter, toNetworkError } from "./http-errors.js";

const failure = (code: string) => Object.assign(new Error("x"), { code });

it.each([
  ["ECONNREFUSED", true],
  ["ENOTFOUND", true],
  ["CERT_HAS_EXPIRED", false],
  ["ERR_TLS_CERT_ALTNAME_INVALID", false],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", false],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", false],
  ["ERR_SSL_WRONG_VERSION_NUMBER", false],
])("%s is retryable: %s", (errno, retryable) => {
  const error = toNetworkError(new TypeError("fetch failed", { cause: failure(errno) }), {
    host: "127.0.0.1:1",
    sent: false,
  });
  expect(error).toMatchObject({ code: "UNREACHABLE", errno, retryable, outcome: "unsent" });
});

it.each([
  ["ECONNREFUSED", "connect", "unsent"],
  ["UND_ERR_CONNECT_TIMEOUT", undefined, "unsent"],
  ["ConnectionRefused", undefined, "unsent"],
  ["EHOSTUNREACH", "connect", "unsent"],
  ["EHOSTUNREACH", "read", "unknown"],
  ["ECONNRESET", "read", "unknown"],
  ["UND_ERR_SOCKET", undefined, "unknown"],
])("%s at %s, from a client that does not report what it sent: %s", (code, syscall, outcome) => {
  const cause = Object.assign(new Error("x"), { code, syscall });
  const error = toNetworkError(new TypeError("fetch failed", { cause }), {
    host: "127.0.0.1:1",
    sent: undefined,
  });
  expect(error).toMatchObject({ code: "UNREACHABLE", outcome });
});

const now = Date.parse("2026-11-15T10:00:00Z");

it.each([
  ["1", 1_000],
  [" 2 ", 2_000],
  ["0", 0],
  ["999999", 30_000],
  ["99999999999999999999999", 30_000],
  ["Sun, 15 Nov 2026 10:00:05 GMT", 5_000],
  ["Sun, 15 Nov 2026 12:00:00 GMT", 30_000],
  ["Sun, 15 Nov 2026 09:00:00 GMT", 0],
  ["-1", undefined],
  ["1.5", undefined],
  ["soon", undefined],
  ["", undefined],
  [null, undefined],
])("reads %j as %j", (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});
