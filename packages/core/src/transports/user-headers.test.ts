import { describe, expect, it } from "vitest";
import { SecretRecord } from "../config/known-secrets.js";
import { withUserHeaders } from "./http/endpoint.js";

describe("withUserHeaders", () => {
  it("adds headers, but does not replace those of the transport or of an auth provider", async () => {
    const own = { accept: "a", authorization: "Bearer provider", "mcp-session-id": "s" };
    const given = { Authorization: "Bearer mine", Accept: "*/*", "Mcp-Session-Id": "x", "X-Key": "k" };
    expect(await withUserHeaders(own, new SecretRecord(given))).toEqual({ ...own, "x-key": "k" });
    expect(await withUserHeaders({}, new SecretRecord(given))).toEqual({
      authorization: "Bearer mine",
      "x-key": "k",
    });
  });

  it("calls a function for every request", async () => {
    let turn = 0;
    const source = async () => ({ "x-turn": String(++turn) });
    expect(await withUserHeaders({}, source)).toEqual({ "x-turn": "1" });
    expect(await withUserHeaders({}, source)).toEqual({ "x-turn": "2" });
  });

  it.each([
    [{ "x-a": "secret\r\nx-b: 1" }],
    [{ "x-a": "secret\n" }],
    [{ "x-a": "secret\u0000" }],
    [{ "x-a": "secret\u20ac" }],
    [{ "x a": "secret" }],
    [{ "x\r\n": "secret" }],
    [{ "": "secret" }],
  ])("refuses %j without showing the value", async (given) => {
    const merging = async () => withUserHeaders({}, new SecretRecord(given));
    const error = await merging().catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "INVALID_CONFIG", outcome: "unsent" });
    expect(error.message).not.toContain("secret");
  });

  it("wraps errors of a headers function", async () => {
    const cause = new Error("cache is down");
    const failing = () => Promise.reject(cause);
    await expect(withUserHeaders({}, failing)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      cause,
      retryable: true,
    });
  });
});
