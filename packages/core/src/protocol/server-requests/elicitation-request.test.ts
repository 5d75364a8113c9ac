import { ToolCallError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { readElicitation } from "./elicitation.js";

const origin = { server: "shop", tool: "buy", signal: new AbortController().signal };
const read = (params: Record<string, unknown>) => readElicitation({ message: "Please", ...params }, origin);
const readUrl = (url: unknown) => read({ mode: "url", url, elicitationId: "e1" });

describe("web pages", () => {
  test("the whole URL and its host are returned", () => {
    expect(readUrl("https://pay.example.com:8443/a?b=c#d")).toEqual({
      mode: "url",
      message: "Please",
      url: "https://pay.example.com:8443/a?b=c#d",
      host: "pay.example.com:8443",
      isPunycode: false,
      elicitationId: "e1",
    });
  });

  test("non-ASCII letters in the host are escaped and flagged", () => {
    expect(readUrl("https://раypal.com/login")).toMatchObject({
      url: "https://xn--ypal-43d9g.com/login",
      host: "xn--ypal-43d9g.com",
      isPunycode: true,
    });
  });

  test.each([
    ["javascript:alert(1)", "javascript:"],
    ["file:///etc/passwd", "file:"],
    ["data:text/html,x", "data:"],
    ["ms-msdt:/id", "ms-msdt:"],
    ["https://bank.example@evil.example/", "user name"],
    ["not a url", "not a URL"],
  ])("%s is blocked", (url, why) => {
    expect(readUrl(url)).toEqual({ mode: "blocked-url", why: expect.stringContaining(why) });
  });
});

describe("forms", () => {
  test("the mode is optional", () => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    expect(read({ requestedSchema })).toEqual({ mode: "form", message: "Please", requestedSchema });
  });

  test.each([
    { requestedSchema: undefined },
    { requestedSchema: { type: "object" } },
    { requestedSchema: { type: "object", properties: { nested: { type: "object", properties: {} } } } },
    { requestedSchema: { type: "object", properties: { list: { type: "array" } } } },
    { requestedSchema: { type: "object", properties: { odd: true } } },
    { requestedSchema: { type: "object", properties: {}, required: "name" } },
    { message: 42, requestedSchema: { type: "object", properties: {} } },
    { mode: "telepathy" },
    { mode: "url" },
  ])("%j is rejected as a protocol error", (params) => {
    const attempt = () => read(params);
    expect(attempt).toThrow(ToolCallError);
    expect(attempt).toThrow(/^\[shop\/buy\] .*\(PROTOCOL\)$/);
  });
});
