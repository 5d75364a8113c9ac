import { expect, test } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { hideCredentials, redactText, redactUrl } from "./redact-text.js";

test.each([
  ["GET https://example.com/mcp?key=CANARY failed", "GET https://example.com/mcp failed"],
  ["https://user:CANARY@example.com/mcp#CANARY", "https://example.com/mcp"],
  ['bad URL "https://example.com/?a=CANARY"', 'bad URL "https://example.com/"'],
  ["sent Bearer CANARY.abc-def", "sent Bearer [redacted]"],
  ["Authorization: Basic CANARY==", "Authorization: [redacted]"],
  ['{"access_token":"CANARY"}', '{"access_token":[redacted]"}'],
  ["client_secret=CANARY&grant_type=x", "client_secret=[redacted]&grant_type=x"],
  ["token eyJhbGciOiJIUzI1NiJ9.CANARY.CANARY seen", "token [redacted] seen"],
  ["key sk-proj-CANARYCANARYCANARY12", "key [redacted]"],
  ["two\nlines\u0000", "two lines"],
  ["nothing to hide", "nothing to hide"],
])("shows %j without secrets", (text, expected) => {
  expect(redactText(text)).toBe(expected);
});

test("truncates long text quickly", () => {
  const started = cpuTimeMs();
  const hostile = `${"a://".repeat(50_000)}${"token".repeat(50_000)}`;
  expect(redactText(hostile).length).toBeLessThanOrEqual(501);
  expect(cpuTimeMs() - started).toBeLessThan(5_000);
});

test.each([
  ["see https://example.com/a?page=2#top\n\tand go on", "see https://example.com/a?page=2#top\n\tand go on"],
  [
    "https://user:CANARY@example.com/?access_token=CANARY&page=2",
    "https://example.com/?access_token=[redacted]&page=2",
  ],
  ["one\nAuthorization: CANARY\ntwo", "one\nAuthorization: [redacted]\ntwo"],
  ["Bearer CANARY.abc", "Bearer [redacted]"],
])("removes only the credentials in %j", (text, expected) => {
  expect(hideCredentials(text)).toBe(expected);
});

test("removes credentials in long text quickly", () => {
  const started = cpuTimeMs();
  hideCredentials(`${"a://".repeat(10_000)}${"token".repeat(10_000)}${"a-".repeat(10_000)}`);
  expect(cpuTimeMs() - started).toBeLessThan(5_000);
});

test.each([
  ["https://example.com/mcp?key=CANARY", "https://example.com/mcp?[redacted]"],
  ["https://a:CANARY@example.com/mcp", "https://example.com/mcp"],
  ["https://example.com/@scope/mcp", "https://example.com/@scope/mcp"],
])("shows the URL %s without secrets", (url, expected) => {
  expect(redactUrl(url)).toBe(expected);
});
