/** URLs that a server names: they must follow the private-address rule. */
import type { LookupFunction } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConnectionError } from "../../packages/base/src/errors/toolport-error.js";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import { createGuardedFetch } from "../../packages/http/src/guarded-fetch.js";
import { createHttpClient } from "../../packages/http/src/node-client.js";
import { createFetchClient } from "../../packages/http/src/wire-client.js";
import {
  result,
  type Script,
  type ScriptedServer,
  sendJson,
  startScriptedServer,
} from "../fixtures/servers/http-scripted.js";
import { createSetup, type Setup } from "../fixtures/servers/http-setup.js";

let setup: Setup;
let canary: ScriptedServer;
beforeEach(async () => {
  setup = createSetup();
  canary = setup.keep(await startScriptedServer((_request, response) => response.end("caught"), "127.0.0.2"));
});
afterEach(async () => {
  expect(canary.seen).toEqual([]);
  await setup.end();
});

const start = async (script: Script) => setup.keep(await startScriptedServer(script));
const call = { jsonrpc: "2.0" as const, id: 1, method: "tools/call", params: {} };

describe("redirects", () => {
  it.each([301, 302, 307, 308])("%i to another origin sends no byte there", async (status) => {
    const server = await start((_request, response) =>
      response.writeHead(status, { location: `http://127.0.0.2:${canary.port}/mcp` }).end(),
    );
    const headers = new SecretRecord({ "x-key": "secret" });
    const { transport } = await setup.streamable(`${server.url}/mcp`, { headers });
    await expect(transport.send(call)).rejects.toMatchObject({ status });
    expect(server.seen).toHaveLength(1);
  });

  it("a loop within the origin ends after five hops", async () => {
    const server = await start((_request, response) =>
      response.writeHead(307, { location: "/mcp/again" }).end(),
    );
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await expect(transport.send(call)).rejects.toMatchObject({ status: 307 });
    expect(server.seen).toHaveLength(6);
  });

  it("within the origin the message arrives complete, with its headers and without the internal marker", async () => {
    const server = await start(({ path, message }, response) =>
      path === "/mcp"
        ? response.writeHead(308, { location: "/mcp/" }).end()
        : sendJson(response, result(message?.id)),
    );
    const headers = new SecretRecord({ "x-key": "secret" });
    const { transport, messages } = await setup.streamable(`${server.url}/mcp`, { headers });
    await transport.send(call);
    expect(messages).toHaveLength(1);
    expect(server.seen[1]?.headers).toMatchObject({ "x-key": "secret" });
    for (const { headers: sent } of server.seen) expect(sent).not.toHaveProperty("x-toolport-request");
  });
});

describe("the guarded fetch", () => {
  const refused = { code: "ADDRESS_REFUSED", outcome: "unsent" };

  it.each([
    ["node", () => setup.http],
    ["fetch", () => createFetchClient()],
  ])("refuses private addresses of others over %s", async (_name, client) => {
    const guarded = createGuardedFetch(client(), { serverUrl: "https://mcp.example.com/mcp" });
    for (const url of [
      `https://127.0.0.2:${canary.port}/`,
      `https://0x7f000002:${canary.port}/`,
      `https://[::ffff:127.0.0.2]:${canary.port}/`,
      `https://localhost.:${canary.port}/`,
      `http://127.0.0.2:${canary.port}/`,
      "http://example.com/",
      "https://169.254.169.254/latest/meta-data",
      "ftp://example.com/",
      "file:///etc/passwd",
      "https://user:pass@example.com/",
    ]) {
      await expect(guarded(url), url).rejects.toMatchObject(refused);
    }
  });

  it("lets a loopback server use its own host only", async () => {
    const auth = await start((_request, response) => sendJson(response, { ok: true }));
    const guarded = createGuardedFetch(setup.http, { serverUrl: "http://127.0.0.1:1/mcp" });
    const response = await guarded(`${auth.url}/.well-known/x?y=1`);
    expect(response).toBeInstanceOf(Response);
    expect(await response.json()).toEqual({ ok: true });
    await expect(guarded(`http://127.0.0.2:${canary.port}/`)).rejects.toMatchObject(refused);
  });

  it("allows a private host that is listed", async () => {
    const guarded = createGuardedFetch(setup.http, {
      serverUrl: "https://mcp.example.com/mcp",
      allowedHosts: ["127.0.0.1"],
    });
    // The rule allows it; it fails because the plain server has no TLS.
    const plain = await start(() => {});
    await expect(guarded(`https://127.0.0.1:${plain.port}/`)).rejects.toMatchObject({ code: "UNREACHABLE" });
  });

  it.each(["127.0.0.2", "::ffff:127.0.0.2", "10.0.0.1"])(
    "refuses a name that resolves to %s",
    async (address) => {
      const asked: string[] = [];
      const lookup = ((hostname, _options, callback) => {
        asked.push(hostname);
        callback(null, [
          { address: "93.184.216.34", family: 4 },
          { address, family: address.includes(":") ? 6 : 4 },
        ]);
      }) as LookupFunction;
      const http = setup.keep(createHttpClient({ lookup, proxy: false }));
      const guarded = createGuardedFetch(http, { serverUrl: "https://mcp.example.com/mcp" });
      await expect(guarded(`https://auth.example.com:${canary.port}/`)).rejects.toMatchObject(refused);
      expect(asked).toEqual(["auth.example.com"]);
    },
  );

  it("connects to the checked address, and checks again for the next request", async () => {
    const home = await start((_request, response) => response.end("home"));
    let turn = 0;
    const lookup = ((_hostname, _options, callback) => {
      callback(null, [{ address: ++turn === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }]);
    }) as LookupFunction;
    const http = setup.keep(createHttpClient({ lookup, proxy: false }));
    const refusal = new ConnectionError({ code: "ADDRESS_REFUSED", what: "no", outcome: "unsent" });
    const checkAddress = (address: string) => (address === "127.0.0.1" ? undefined : refusal);
    const url = new URL(`http://rebind.example:${home.port}/`);
    const answer = await http.open({ url, method: "GET", headers: {}, checkAddress });
    expect(answer.status).toBe(200);
    answer.body.cancel();
    await expect(http.open({ url, method: "GET", headers: {}, checkAddress })).rejects.toBe(refusal);
    expect(turn).toBe(2);
    expect(home.seen).toHaveLength(1);
  });

  it("does not follow redirects", async () => {
    const auth = await start((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.2:${canary.port}/` }).end(),
    );
    const guarded = createGuardedFetch(setup.http, { serverUrl: `${auth.url}/mcp` });
    expect((await guarded(`${auth.url}/.well-known/x`)).status).toBe(302);
  });

  it("stops at its size limit and its timeout", async () => {
    const auth = await start(({ path }, response) => {
      if (path === "/large") return response.end("x".repeat(300 * 1024));
      return response.writeHead(200).write("{");
    });
    const guarded = createGuardedFetch(setup.http, { serverUrl: `${auth.url}/mcp`, timeoutMs: 300 });
    await expect(guarded(`${auth.url}/large`)).rejects.toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    await expect(guarded(`${auth.url}/slow`)).rejects.toMatchObject({ code: "UNREACHABLE" });
  });

  it("sends forms as forms", async () => {
    const auth = await start((_request, response) => sendJson(response, {}));
    const guarded = createGuardedFetch(setup.http, { serverUrl: `${auth.url}/mcp` });
    await guarded(`${auth.url}/token`, { method: "POST", body: new URLSearchParams({ grant: "a b" }) });
    expect(auth.seen[0]).toMatchObject({ body: "grant=a+b" });
    expect(auth.seen[0]?.headers["content-type"]).toContain("application/x-www-form-urlencoded");
  });
});

it("sends the user's headers only to the endpoint when the SDK looks for OAuth metadata", async () => {
  const server = await start(({ path }, response) =>
    response.writeHead(path === "/mcp" ? 401 : 404, { "www-authenticate": "Bearer" }).end(),
  );
  const asked: string[] = [];
  const authProvider = {
    token: async () => undefined,
    onUnauthorized: async ({ fetchFn }: { fetchFn: (url: string) => Promise<Response> }) => {
      asked.push(String((await fetchFn(`${server.url}/.well-known/oauth-protected-resource`)).status));
      await expect(fetchFn(`http://127.0.0.2:${canary.port}/`)).rejects.toMatchObject({
        code: "ADDRESS_REFUSED",
      });
      throw new Error("no");
    },
  };
  const headers = new SecretRecord({ "x-key": "secret" });
  const { transport } = await setup.streamable(`${server.url}/mcp`, { headers, authProvider });
  await expect(transport.send(call)).rejects.toThrow("no");
  expect(asked).toEqual(["404"]);
  expect(server.seen.map(({ headers: sent }) => sent["x-key"])).toEqual(["secret", undefined]);
});
