/** A registry that fails: which requests are retried, for how long, and the resulting error. */
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { McpRegistryClient } from "../../packages/registry/src/mcp-registry-client.js";
import type { McpRegistryClientOptions } from "../../packages/registry/src/registry-options.js";
import type { Script } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { type RegistryTestServer, startRegistryServer } from "../support/registry-server.js";
import { waitFor } from "../support/wait-for.js";

let registry: RegistryTestServer;
let before: LeakSnapshot;

beforeEach(async () => {
  before = takeLeakSnapshot();
  registry = await startRegistryServer();
});
afterEach(async () => {
  await registry.close();
  await waitForNoLeaks(before);
});

const client = (options: McpRegistryClientOptions = {}): McpRegistryClient =>
  new McpRegistryClient({ baseUrl: registry.url, retry: { baseMs: 1 }, ...options });

const always = Number.POSITIVE_INFINITY;
const answer =
  (status: number, body: string | Buffer = "", headers: Record<string, string> = {}): Script =>
  (_request, response) =>
    response.writeHead(status, headers).end(body);
const html = { "content-type": "text/html" };
const asJson = { "content-type": "application/json" };

describe("retried", () => {
  it.each([429, 500, 502, 503, 504, 408])("HTTP %i, three times in all", async (status) => {
    registry.intercept(answer(status), 2);
    expect((await client().listServers({ limit: 1 })).servers).toHaveLength(1);
    registry.intercept(answer(status, '{"error":"busy, token=abcdef123"}'), always);
    const error = await failure(client().listServers());
    expect(error).toMatchObject({ code: "HTTP_STATUS", status, retryable: true });
    expect(error.what).toBe(`The registry responded with HTTP ${status}: busy, token=[redacted]`);
    expect(registry.seen).toHaveLength(6);
  });

  it("a connection that breaks before and during the response", async () => {
    registry.intercept((_request, response) => response.destroy());
    expect((await client().listServers({ limit: 1 })).servers).toHaveLength(1);
    registry.intercept((_request, response) => {
      response.writeHead(200, { ...asJson, "content-length": "1000" }).write('{"servers":[');
      response.destroy();
    }, always);
    expect(await failure(client().listServers())).toMatchObject({ code: "UNREACHABLE", retryable: true });
    expect(registry.seen).toHaveLength(5);
  });

  it("a response that times out", async () => {
    registry.intercept(() => {}, 1);
    expect((await client({ timeoutMs: 100 }).listServers({ limit: 1 })).servers).toHaveLength(1);
    registry.intercept((_request, response) => response.writeHead(200, asJson).write("{"), always);
    const error = await failure(client({ retry: false }).listServers({ timeoutMs: 100 }));
    expect(error).toMatchObject({ code: "TIMEOUT", phase: "registry", retryable: true });
    expect(error.what).toBe("The registry did not respond within 100 ms");
  });

  it("after the Retry-After of the registry", async () => {
    registry.intercept(answer(429, "", { "retry-after": "1" }));
    const started = performance.now();
    await client().listServers({ limit: 1 });
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
  });

  it.each(["30", "999999", new Date(Date.now() + 3_600_000).toUTCString()])(
    "not after Retry-After %s, if the timeout comes first",
    async (retryAfter) => {
      registry.intercept(answer(503, "", { "retry-after": retryAfter }), always);
      const error = await failure(client({ maxTimeoutMs: 20_000 }).listServers());
      expect(error).toMatchObject({ code: "HTTP_STATUS", status: 503, retryAfterMs: 30_000 });
      expect(registry.seen).toHaveLength(1);
    },
  );

  it.each(["-1", "soon"])("after its own wait, if Retry-After says %s", async (retryAfter) => {
    registry.intercept(answer(503, "", { "retry-after": retryAfter }));
    expect((await client().listServers({ limit: 1 })).servers).toHaveLength(1);
  });

  it("never, if disabled", async () => {
    registry.intercept(answer(503), always);
    await failure(client({ retry: false }).listServers());
    expect(registry.seen).toHaveLength(1);
  });
});

describe("not retried", () => {
  it.each([
    [401, { code: "AUTH_REQUIRED", name: "AuthError" }],
    [403, { code: "FORBIDDEN", name: "AuthError" }],
    [404, { code: "HTTP_STATUS", status: 404 }],
    [410, { code: "HTTP_STATUS", status: 410 }],
  ])("HTTP %i", async (status, expected) => {
    registry.intercept(answer(status, "<html>", html), always);
    expect(await failure(client().listServers())).toMatchObject(expected);
    expect(registry.seen).toHaveLength(1);
  });

  it.each<[string, Script, string]>([
    [
      "a captive portal",
      answer(200, "<html>Sign in", html),
      "it is not JSON (HTTP 200, content type text/html): <html>Sign in",
    ],
    ["nothing", answer(204), "it is not JSON (HTTP 204"],
    ["an empty body", answer(200, "", asJson), "it is not JSON"],
    ["half an answer", answer(200, '{"servers":[{"server', asJson), "it is not JSON"],
    ["something else", answer(200, '{"hello":1}', asJson), "it has no list of servers"],
    ["a list", answer(200, "[]", asJson), "it has no list of servers"],
    [
      "an invalid cursor",
      answer(200, '{"servers":[],"metadata":{"nextCursor":{}}}', asJson),
      "its cursor is not a string",
    ],
    ["too many entries", answer(200, `{"servers":[${"1,".repeat(10_000)}1]}`, asJson), "more than 10000"],
    ["304 without a question", answer(304), "it is not JSON (HTTP 304"],
  ])("%s", async (_name, script, why) => {
    registry.intercept(script, always);
    const error = await failure(client().listServers());
    expect(error).toMatchObject({ code: "BAD_RESPONSE", retryable: false });
    expect(error.what).toContain(why);
    expect(registry.seen).toHaveLength(1);
  });

  it("a response over the size limit, compressed or endless", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
    registry.intercept(answer(200, bomb, { ...asJson, "content-encoding": "gzip" }));
    expect(await failure(client().listServers())).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    registry.intercept(answer(200, `{"servers":[],"x":"${"x".repeat(2_000)}"}`, asJson));
    expect(await failure(client({ maxBytes: 1_000 }).listServers())).toMatchObject({
      code: "MESSAGE_TOO_LARGE",
      what: "The registry's response is larger than 1000 bytes",
    });
    registry.intercept(answer(400, "x".repeat(1_000_000)));
    expect(await failure(client().listServers())).toMatchObject({ code: "INVALID_ARGUMENTS" });
  });
});

describe("an abort", () => {
  it("before the request sends nothing", async () => {
    const reason = new Error("not wanted");
    const error = await failure(client().listServers({ signal: AbortSignal.abort(reason) }));
    expect(error).toBe(reason);
    expect(registry.seen).toEqual([]);
  });

  it("during the request ends it with its reason", async () => {
    registry.intercept(() => {}, always);
    const controller = new AbortController();
    const asking = failure(client().getServer("a/b", "latest", { signal: controller.signal }));
    await waitFor(() => registry.seen.length === 1);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await asking).toBe(reason);
  });

  it("between two attempts ends the wait", async () => {
    registry.intercept(answer(503, "", { "retry-after": "20" }), always);
    const controller = new AbortController();
    const asking = failure(client().listServers({ signal: controller.signal }));
    await waitFor(() => registry.seen.length === 1);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await asking).toBe(reason);
  });

  it("ends a fetch that ignores the signal", async () => {
    const deaf: typeof fetch = () => new Promise(() => {});
    const asking = client({ fetch: deaf, retry: false }).listServers({ timeoutMs: 50 });
    expect(await failure(asking)).toMatchObject({ code: "TIMEOUT" });
  });
});

it("accepts a custom fetch, header functions and a client name", async () => {
  let count = 0;
  const asking = client({
    fetch: (url, init) => fetch(url, init),
    headers: async () => ({ authorization: `Bearer ${++count}` }),
    userAgent: "my-app/1",
  });
  registry.intercept(answer(503));
  await asking.listServers({ limit: 1 });
  expect(registry.seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer 1", "Bearer 2"]);
  expect(registry.seen[0]?.headers["user-agent"]).toBe("my-app/1");
  const plain = client({ fetch: () => Promise.reject(new TypeError("Failed to fetch")) });
  expect(await failure(plain.listServers())).toMatchObject({ code: "UNREACHABLE", retryable: true });
  const broken = client({ headers: () => Promise.reject(new Error("no token")) });
  expect(await failure(broken.listServers())).toMatchObject({ code: "UNEXPECTED" });
});
