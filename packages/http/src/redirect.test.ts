import { expect, it } from "vitest";
import { redirectError } from "./redirect.js";

const error = (from: string, location: string | undefined, status = 307, method = "POST") =>
  redirectError({ status, headers: { get: () => location ?? null } }, new URL(from), method);

it.each<[string, Parameters<typeof error>, RegExp, RegExp]>([
  [
    "http to https on the same host",
    ["http://a.example/mcp", "https://a.example/mcp", 301],
    /redirects to https:\/\/a\.example\/mcp \(HTTP 301\).*turns POST into GET/,
    /^Set the server's url to https:\/\/a\.example\/mcp$/,
  ],
  [
    "http to https on another port",
    ["http://a.example:8080/mcp", "https://a.example:8443/mcp"],
    /another origin/,
    /^Set the server's url to https:\/\/a\.example:8443\/mcp$/,
  ],
  [
    "another host",
    ["https://a.example/mcp", "https://b.example/mcp?key=hush"],
    /redirects to https:\/\/b\.example\/mcp \(HTTP 307\).*another host/,
    /^If you trust it: Set the server's url to https:\/\/b\.example\/mcp$/,
  ],
  ["https to http", ["https://a.example/mcp", "http://a.example/mcp"], /not encrypted/, /https address/],
  ["a user in the address", ["https://a.example/", "https://ada:hush@a.example/x"], /user name/, /operator/],
  [
    "a path of the same origin",
    ["https://a.example/mcp", "/v2/mcp", 302],
    /into GET/,
    /a\.example\/v2\/mcp$/,
  ],
  ["no address", ["https://a.example/", undefined], /names no valid address/, /Check the URL/],
  ["no valid address", ["https://a.example/", "https://["], /names no valid address/, /Check the URL/],
  ["too many", ["https://a.example/", "/again"], /more than 5/, /operator/],
])("%s", (_title, given, what, next) => {
  const found = error(...given);
  expect(found).toMatchObject({ code: "HTTP_STATUS", retryable: false, status: given[2] ?? 307 });
  expect(found.what).toMatch(what);
  expect(found.next).toMatch(next);
  expect(found.message).not.toContain("hush");
});
