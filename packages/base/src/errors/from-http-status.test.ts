import { describe, expect, test } from "vitest";
import { fromHttpStatus, outcomeOfStatus } from "./foreign-error.js";

const call = { server: "weather", tool: "forecast", phase: "call" };
const convert = (status: number, context = call) => fromHttpStatus(status, undefined, context);

const STATUSES = [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 413, 414, 415, 416, 422, 425, 426];
const ALL = [...STATUSES, 429, 430, 500, 501, 502, 503, 504, 505];

describe("a status", () => {
  test("is transient for these and no others", () => {
    const transient = ALL.filter((status) => convert(status).retryable);
    expect(transient).toEqual([408, 425, 429, 500, 502, 503, 504]);
  });

  test("refuses the request before any work for these and no others", () => {
    const refusing = ALL.filter((status) => convert(status).outcome === "unsent");
    expect(refusing).toEqual([401, 403, 405, 406, 413, 415, 429]);
  });

  test("404 refuses a request with a session id only", () => {
    expect(outcomeOfStatus(404, { inSession: true })).toBe("unsent");
    expect(outcomeOfStatus(404, { inSession: false })).toBe("unknown");
    expect(outcomeOfStatus(405, { inSession: true })).toBe("unsent");
    expect(outcomeOfStatus(410, { inSession: true })).toBe("unknown");
  });

  test("of a connect attempt has run nothing", () => {
    expect(convert(500, { ...call, phase: "connect" }).outcome).toBe("unsent");
    expect(convert(500).outcome).toBe("unknown");
  });
});

describe("the error", () => {
  test.each([
    [401, "AUTH_REQUIRED", "authorization", "token"],
    [403, "FORBIDDEN", "denied access", "account"],
    [404, "HTTP_STATUS", "HTTP 404", "path of the URL"],
    [405, "HTTP_STATUS", "HTTP 405", "transport"],
    [429, "HTTP_STATUS", "HTTP 429", "less often"],
    [500, "HTTP_STATUS", "HTTP 500", "log"],
  ])("of %i has a code, a reason and advice", (status, code, what, next) => {
    const error = convert(status);
    expect(error).toMatchObject({ code, status, server: "weather", tool: "forecast" });
    expect(error.what).toContain(what);
    expect(error.next).toContain(next);
  });

  test("of 499 has no advice", () => expect(convert(499).next).toBeUndefined());
});
