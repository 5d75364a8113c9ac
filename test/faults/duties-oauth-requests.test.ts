/** Duties of OAuth requests and tokens: S6, S9, S12, S14, S31. */
import type { AuthError } from "toolport";
import { beforeAll, expect } from "vitest";
import { startMcpServer } from "../fixtures/servers/http-mcp.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { faultCase } from "./fault-case.js";
import {
  askForLogin,
  attempt,
  finishLogin,
  openBench,
  openHostile,
  openLoggedIn,
  openPort,
  warmUpOAuth,
  whoami,
} from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

faultCase("S6", "authorize, token and refresh requests carry the canonical URI", async (harness) => {
  const bench = await openBench(harness);
  // A resource URI has no fragment.
  const toolport = openPort(harness, { url: `${bench.url}#fragment` });
  const authUrl = new URL(await askForLogin(toolport));
  expect(authUrl.searchParams.getAll("resource")).toEqual([bench.url]);
  await toolport.finishAuth("it", (await logIn(authUrl)).searchParams);
  bench.expireAccessTokens();
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.tokenRequests.map(({ grant, resource }) => ({ grant, resource }))).toEqual([
    { grant: "authorization_code", resource: bench.url },
    { grant: "refresh_token", resource: bench.url },
  ]);
});

faultCase(
  "S9",
  "tokens are in the header of every request, in no URL, and at no other server",
  async (harness) => {
    const bench = await openBench(harness);
    const other = harness.keep(await startMcpServer());
    const toolport = harness.open(
      { it: { url: bench.url }, other: { url: other.url } },
      { callbackUrl: CALLBACK_URL },
    );
    await finishLogin(toolport);
    bench.resource.seen.length = 0;
    for (let calls = 0; calls < 5; calls++) expect(await whoami(toolport)).toBe("ada");
    bench.expireAccessTokens();
    expect(await whoami(toolport)).toBe("ada");
    await toolport.callTool("other__echo", { text: "hello" });
    // Without the header the server refuses a request; it did so once, for the expired token.
    expect(bench.resource.seen.filter(({ status }) => status === 401)).toHaveLength(1);
    const urls = [...bench.requestLines, ...bench.resource.seen.map(({ path }) => path)].join("\n");
    const elsewhere = JSON.stringify(other.seen.map(({ path, headers, body }) => [path, headers, body]));
    expect(other.seen.length).toBeGreaterThan(0);
    expect(elsewhere).not.toContain("authorization");
    for (const [secret, name] of bench.secrets) {
      expect(elsewhere, name).not.toContain(secret);
      expect(urls, name).not.toContain(secret);
    }
  },
);

faultCase("S9", "redirected to another origin: the token is not sent along", async (harness) => {
  const bench = await openBench(harness);
  const other = harness.keep(await startMcpServer());
  const toolport = await openLoggedIn(harness, bench);
  bench.resource.redirect = other.url;
  await whoami(toolport).then(harness.note, harness.note);
  expect(bench.resource.seen.some(({ status }) => status === 307)).toBe(true);
  expect(other.seen).toEqual([]);
});

faultCase("S12", "loopback: native, public client, with the redirect URI in use", async (harness) => {
  const bench = await openBench(harness);
  const authUrl = new URL(await askForLogin(openPort(harness, bench)));
  expect(bench.clients).toMatchObject([
    {
      application_type: "native",
      redirect_uris: [CALLBACK_URL],
      token_endpoint_auth_method: "none",
      response_types: ["code"],
      grant_types: ["authorization_code", "refresh_token"],
    },
  ]);
  expect(authUrl.searchParams.get("redirect_uri")).toBe(CALLBACK_URL);
});

faultCase("S12", "https: a web client; plain http elsewhere is refused", async (harness) => {
  const bench = await openBench(harness);
  const callbackUrl = "https://app.example.com/oauth/callback";
  await askForLogin(openPort(harness, bench, { callbackUrl }));
  expect(bench.clients).toMatchObject([{ application_type: "web", redirect_uris: [callbackUrl] }]);
  expect(() => openPort(harness, bench, { callbackUrl: "http://app.example.com/oauth/callback" })).toThrow(
    expect.objectContaining({ name: "ConfigError" }),
  );
});

faultCase("S14", "always 401: two token requests for each call, then a lasting failure", async (harness) => {
  const bench = await openBench(harness);
  const toolport = openPort(harness, bench);
  bench.refusal = "invalid_token";
  const failing = () =>
    harness.fails<AuthError>(whoami(toolport), {
      code: ["AUTH_REQUIRED", "AUTH_FAILED"],
      server: "it",
      withinMs: 2_000,
    });
  let error = await failing();
  for (let logins = 0; error.authUrl !== undefined; logins++) {
    expect(logins, "logins that did not help").toBeLessThan(4);
    await toolport.finishAuth("it", (await logIn(error.authUrl)).searchParams).catch(harness.note);
    const before = bench.countTokens();
    error = await failing();
    expect(bench.countTokens() - before).toBeLessThanOrEqual(2);
  }
  expect(error).toMatchObject({ code: "AUTH_FAILED", retryable: false });
  const before = bench.countTokens();
  await failing();
  expect(bench.countTokens()).toBe(before);
});

faultCase("S14", "403: what was asked for before, and what the challenge names", async (harness) => {
  const bench = await openBench(harness);
  const toolport = await openLoggedIn(harness, bench);
  const error = await harness.fails<AuthError>(toolport.callTool("it__erase"), {
    code: "AUTH_REQUIRED",
    server: "it",
    withinMs: 2_000,
  });
  const scopes = new URL(error.authUrl as string).searchParams.get("scope")?.split(" ");
  expect(scopes).toEqual(expect.arrayContaining(["tools:read", "tools:admin"]));
  await toolport.finishAuth("it", (await logIn(error.authUrl as string)).searchParams);
  expect((await toolport.callTool("it__erase")).text).toBe("ada");
});

const scopeOf = (authUrl: string | undefined): string | null =>
  new URL(authUrl as string).searchParams.get("scope");

faultCase("S31", "no more than the challenge asks for", async (harness) => {
  const bench = await openBench(harness);
  const scopes = scopeOf(await askForLogin(openPort(harness, bench)))?.split(" ");
  // The server lists a wider one; this authorization server lists `offline_access`.
  expect(scopes).toEqual(["tools:read", "offline_access"]);
});

faultCase("S31", "offline_access only where it is listed", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  const resource = { scopes_supported: ["read"] };
  const scope = async (scopes_supported: readonly string[] | undefined) =>
    scopeOf((await attempt(harness, hostile, { resource, metadata: { scopes_supported } })).report.authUrl);
  expect(await scope(undefined)).toBe("read");
  expect(await scope(["read", "write"])).toBe("read");
  expect(await scope(["read", "offline_access"])).toBe("read offline_access");
  // A server that asks for it in its own list does not get it either.
  const greedy = { resource: { scopes_supported: ["read", "offline_access"] }, metadata: {} };
  expect(scopeOf((await attempt(harness, hostile, greedy)).report.authUrl)).toBe("read");
});
