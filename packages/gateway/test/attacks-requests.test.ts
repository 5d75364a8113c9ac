/** Requests that must not reach a server: forged tokens, foreign pages and hosts, headers that contradict the body. */
import { request as send } from "node:http";
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sendRaw } from "../../../test/support/raw-request.js";
import type { AuditEvent } from "../src/index.js";
import { readPolicy } from "../src/policy/read-policy.js";
import { type AttackScene, openAttackScene, URL_OF_GATEWAY } from "./attack-scene.js";
import { type Fields, META, post, VERSIONS } from "./raw-client.js";

const upstream = createTestServer({
  tools: { read: { handler: () => "read" }, wipe: { handler: () => "wiped" } },
  resources: { "test://a": { text: "a" } },
});
/** Everything that reached the server: headers and bodies. */
const received: { readonly headers: Record<string, string>; readonly body: string }[] = [];
const audited: AuditEvent[] = [];
let scene: AttackScene;

beforeAll(async () => {
  const { url } = await upstream.http({
    async intercept(request) {
      received.push({
        headers: Object.fromEntries(request.headers),
        body: request.method === "POST" ? await request.clone().text() : "",
      });
      return undefined;
    },
  });
  scene = await openAttackScene(
    { mcpServers: { up: { url } } },
    {
      allowedOrigins: ["https://app.example.com"],
      policy: await readPolicy({ default: "allow", rules: [{ effect: "deny", tool: "wipe" }] }),
      audit: (event) => void audited.push(event),
    },
  );
});

afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await upstream.close();
});

const call = (name: string): Fields => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name,
    arguments: {},
    _meta: { [META.version]: VERSIONS.modern, [META.capabilities]: {} },
  },
});
const headersOf = (name: string) => ({
  "mcp-protocol-version": VERSIONS.modern,
  "mcp-method": "tools/call",
  "mcp-name": name,
});

describe("G19", () => {
  const claims = (more: Fields = {}) => ({
    iss: scene.issuer.issuer,
    sub: "ada",
    aud: URL_OF_GATEWAY,
    exp: Math.floor(Date.now() / 1_000) + 3_600,
    ...more,
  });
  const attacks: Record<string, () => string | Promise<string>> = {
    "the audience of another server": () => scene.tokenOf("ada", { aud: "https://other.example.com/mcp" }),
    "another issuer": () => scene.tokenOf("ada", { iss: "https://evil.example" }),
    "alg none": () => new UnsecuredJWT(claims()).encode(),
    async "HMAC with the public key"() {
      const { jwk, alg } = scene.key;
      const spki = await exportSPKI((await importJWK(jwk, alg, { extractable: true })) as never);
      return new SignJWT(claims())
        .setProtectedHeader({ alg: "HS256", kid: scene.key.kid })
        .sign(new TextEncoder().encode(spki));
    },
    "no expiry": () => scene.tokenOf("ada", { exp: undefined }),
    "an expiry in the past": () => scene.tokenOf("ada", { exp: Math.floor(Date.now() / 1_000) - 1 }),
  };

  test.each(Object.entries(attacks))(
    "G19 a token with %s: 401, and no server is asked",
    async (_name, make) => {
      const before = received.length;
      const headers = { ...headersOf("up__read"), authorization: `Bearer ${await make()}` };
      const { status, headers: answered } = await post(scene.url, call("up__read"), { headers });
      expect(status).toBe(401);
      expect(answered.get("www-authenticate")).toMatch(/^Bearer error="invalid_token".*resource_metadata="/);
      expect(received.length).toBe(before);
    },
  );
});

describe("G21", () => {
  /** Credentials and addresses of the client, none of which may be passed on. */
  const secrets = {
    cookie: "session=canary-cookie",
    dpop: "canary-dpop",
    "proxy-authorization": "Basic canary-proxy",
    "x-forwarded-for": "203.0.113.77",
    "x-forwarded-host": "canary-host.example",
    forwarded: "for=203.0.113.77",
    origin: "https://app.example.com",
    "last-event-id": "canary-event",
    "x-api-key": "canary-key",
  };

  test.each(["modern", "legacy"] as const)(
    "G21 credentials of %s clients never reach a server",
    async (era) => {
      const token = await scene.tokenOf("grace", { jti: "canary-token" });
      const headers = { ...secrets, authorization: `Bearer ${token}` };
      const session = era === "legacy" ? await scene.session("grace") : undefined;
      const before = received.length;
      const send = (method: string, params: Fields) =>
        session === undefined
          ? scene.modern("grace", method, params, { headers })
          : scene.legacy("grace", session, { id: 1, method, params }, { headers });
      const answers = [
        await send("tools/call", { name: "up__read", arguments: {} }),
        await send("resources/read", { uri: "test://a" }),
        await send("tools/list", {}),
      ];
      expect(answers.map(({ status, last }) => [status, last.error])).toEqual(
        answers.map(() => [200, undefined]),
      );
      expect(received.length).toBeGreaterThan(before);
      const wire = JSON.stringify(received);
      const [, payload, signature] = token.split(".");
      for (const secret of [token, payload, signature, "canary", "203.0.113.77", "app.example.com"])
        expect(wire).not.toContain(secret);
      if (session !== undefined) expect(wire).not.toContain(session);
    },
  );
});

describe("G22", () => {
  const foreign: Record<string, Record<string, string>> = {
    "a rebound host": { host: "evil.example" },
    "a rebound host with its origin": { host: "evil.example", origin: "http://evil.example" },
    "a page of another site": { host: "127.0.0.1", origin: "https://evil.example" },
    "a page without an origin": { host: "127.0.0.1", origin: "null" },
    "a form of another site": { host: "127.0.0.1", "sec-fetch-site": "cross-site" },
    "a form of a sister site": { host: "127.0.0.1", "sec-fetch-site": "same-site" },
  };

  test.each(Object.entries(foreign))("G22 %s: 403 before the body is read", async (_name, headers) => {
    const before = received.length;
    const authorization = `Bearer ${await scene.tokenOf("ada")}`;
    for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded"])
      expect(await statusBeforeBody(scene.url, { ...headers, authorization, "content-type": type })).toBe(
        403,
      );
    expect(received.length).toBe(before);
  });

  test("G22 a preflight of a foreign page allows nothing", async () => {
    const headers = {
      host: "127.0.0.1",
      origin: "https://evil.example",
      "access-control-request-method": "POST",
    };
    const answer = await sendRaw(scene.url, "/mcp", { method: "OPTIONS", headers });
    expect(answer.status).toBe(403);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("G22 the host of a web request is checked, too", async () => {
    const authorization = `Bearer ${await scene.tokenOf("ada")}`;
    const ask = (url: string) =>
      scene.gateway.fetch(
        new Request(url, {
          method: "POST",
          headers: { authorization, "content-type": "application/json", ...headersOf("up__read") },
          body: JSON.stringify(call("up__read")),
        }),
      );
    expect((await ask("http://evil.example/mcp")).status).toBe(403);
    expect((await ask(URL_OF_GATEWAY)).status).toBe(200);
  });

  test("G22 a page of an allowed origin is served", async () => {
    const { status, headers } = await scene.modern(
      "ada",
      "tools/list",
      {},
      {
        headers: { origin: "https://app.example.com", "sec-fetch-site": "cross-site" },
      },
    );
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example.com");
  });
});

/** The status of a request whose body never comes. */
function statusBeforeBody(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = send(url, { method: "POST", headers: { ...headers, "content-length": "100000" } });
    asked.once("error", reject);
    asked.once("response", ({ statusCode }) => {
      asked.destroy();
      resolve(statusCode);
    });
    asked.flushHeaders();
  });
}

describe("G23", () => {
  const mismatches: Record<string, Record<string, string>> = {
    "another tool": { "mcp-name": "up__read" },
    "another tool, encoded": { "mcp-name": `=?base64?${Buffer.from("up__read").toString("base64")}?=` },
    "both tools": { "mcp-name": "up__wipe, up__read" },
    "another method": { "mcp-method": "tools/list" },
    "another revision": { "mcp-protocol-version": VERSIONS.legacy },
  };

  test.each(Object.entries(mismatches))(
    "G23 headers with %s: 400 and -32020, and no server is asked",
    async (_name, more) => {
      const before = received.length;
      const headers = { ...headersOf("up__wipe"), ...more };
      const params = { name: "up__wipe", arguments: {} };
      const { status, last } = await scene.modern("ada", "tools/call", params, { headers });
      expect([status, last.error?.code]).toEqual([400, -32020]);
      expect(received.length).toBe(before);
    },
  );

  test("G23 headers left out: 400 and -32020", async () => {
    const { "mcp-name": _, ...headers } = headersOf("up__read");
    const authorization = `Bearer ${await scene.tokenOf("ada")}`;
    const { status, last } = await post(scene.url, call("up__read"), {
      headers: { ...headers, authorization },
    });
    expect([status, last.error?.code]).toEqual([400, -32020]);
  });

  test("G23 where no header is required, policy and audit read the body", async () => {
    const before = received.length;
    const session = await scene.session("ada");
    audited.length = 0;
    const params = { name: "up__wipe", arguments: {} };
    const { last } = await scene.legacy(
      "ada",
      session,
      { id: 1, method: "tools/call", params },
      { headers: { "mcp-name": "up__read", "mcp-method": "tools/list" } },
    );
    expect(last.result).toMatchObject({ isError: true });
    expect(received.slice(before).some(({ body }) => body.includes("tools/call"))).toBe(false);
    expect(audited.filter(({ method }) => method === "tools/call")).toMatchObject([
      { tool: "wipe", outcome: "refused" },
    ]);
  });
});
