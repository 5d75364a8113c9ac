/** Faults of tokens: expired, always refused, replaced by another process. */
import { type AuthError, memoryStore, type Store } from "toolport";
import { beforeAll, expect } from "vitest";
import { type OAuthTestServer, startOAuthServer } from "../fixtures/servers/oauth-server.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import {
  askForLogin,
  callTimes,
  disposeAtEnd,
  finishLogin,
  openBench,
  openLoggedIn,
  openPort,
  warmUpOAuth,
  whoami,
} from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

const FIFTY = Array.from({ length: 50 }, () => "ada");

faultCase("A01", "the server no longer knows the token", async (harness) => {
  const bench = await openBench(harness);
  const toolport = await openLoggedIn(harness, bench);
  bench.expireAccessTokens();
  expect(await harness.within(1_000, callTimes(toolport, 50))).toEqual(FIFTY);
  expect(bench.countTokens("refresh_token")).toBe(1);
  expect(bench.revokedFamilies).toEqual([]);
});

faultCase("A01", "the client knows that the token has expired", async (harness) => {
  const bench = await openBench(harness, { accessTokenSeconds: 1 });
  const toolport = await openLoggedIn(harness, bench);
  const refused = () => bench.resource.seen.filter(({ status }) => status === 401).length;
  const before = refused();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  bench.accessTokenSeconds = 3_600;
  const asked = bench.countTokens("refresh_token");
  expect(await harness.within(1_000, callTimes(toolport, 50))).toEqual(FIFTY);
  expect(bench.countTokens("refresh_token") - asked).toBe(1);
  // No request carried a token that was known to be expired.
  expect(refused()).toBe(before);
  expect(bench.revokedFamilies).toEqual([]);
});

function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A store whose leases exclude no process, as after a lease that ended too early. */
const withoutLeases = (store: Store): Store => ({
  ...store,
  lease: async (name) => ({ name, fence: 1, renew: async () => true, release: async () => {} }),
});

faultCase("A04", "invalid_grant while a newer token is in the store", async (harness) => {
  const bench = await openBench(harness);
  const store = memoryStore();
  const quick = await openLoggedIn(harness, bench, { store });
  const slow = openPort(harness, bench, { store: withoutLeases(store) });
  expect(await whoami(slow)).toBe("ada");
  bench.expireAccessTokens();
  const held = createGate();
  const renewed = createGate();
  let asked = 0;
  bench.onTokenRequest = async (phase) => {
    if (phase !== "arrived" || ++asked > 1) return undefined;
    held.open();
    await renewed.opened;
    return "invalid_grant";
  };
  const late = callTimes(slow, 5);
  await held.opened;
  expect(await whoami(quick)).toBe("ada");
  const [key = ""] = await store.list("oauth/tokens/");
  const written = await store.get(key);
  renewed.open();
  expect(await harness.within(2_000, late)).toEqual(Array(5).fill("ada"));
  // It did not delete a token that it had not read, and no second request was made.
  expect(await store.get(key)).toEqual(written);
  expect(await whoami(quick)).toBe("ada");
  expect(asked).toBe(2);
  expect(bench.revokedFamilies).toEqual([]);
});

faultCase("A04", "invalid_grant and nothing newer: a login, no loop", async (harness) => {
  const bench = await openBench(harness);
  const toolport = await openLoggedIn(harness, bench);
  bench.revokeGrants();
  for (let calls = 0; calls < 3; calls++) {
    const error = await harness.fails<AuthError>(whoami(toolport), {
      code: "AUTH_REQUIRED",
      server: "it",
      withinMs: 2_000,
    });
    expect(error.authUrl).toContain(bench.issuer);
  }
  expect(bench.countTokens("refresh_token")).toBe(1);
  await finishLogin(toolport);
  expect(await whoami(toolport)).toBe("ada");
});

faultCase("A05", "every token refused with 401", async (harness) => {
  const bench = await openBench(harness);
  const toolport = await openLoggedIn(harness, bench);
  bench.refusal = "invalid_token";
  for (let calls = 0; calls < 3; calls++) {
    const before = bench.countTokens();
    await harness.fails(whoami(toolport), { code: "AUTH_REQUIRED", server: "it", withinMs: 2_000 });
    expect(bench.countTokens() - before).toBeLessThanOrEqual(2);
  }
  expect(bench.countTokens("refresh_token")).toBeLessThanOrEqual(2);
});

faultCase("A05", "always insufficient_scope", async (harness) => {
  const bench = await openBench(harness);
  const toolport = await openLoggedIn(harness, bench);
  bench.refusal = "insufficient_scope";
  const erase = () => toolport.callTool("it__erase");
  const first = await harness.fails<AuthError>(erase(), {
    code: "AUTH_REQUIRED",
    server: "it",
    withinMs: 2_000,
  });
  expect(new URL(first.authUrl as string).searchParams.get("scope")?.split(" ")).toEqual(
    expect.arrayContaining(["tools:read", "tools:admin"]),
  );
  expect(bench.countTokens("refresh_token")).toBe(0);
  // The user grants more scope, which does not help: the client does not ask again.
  await toolport.finishAuth("it", (await logIn(first.authUrl as string)).searchParams);
  const logins = bench.countTokens("authorization_code");
  for (let calls = 0; calls < 3; calls++) {
    await harness.fails(erase(), {
      code: "INSUFFICIENT_SCOPE",
      server: "it",
      withinMs: 2_000,
    });
  }
  expect(bench.countTokens("authorization_code")).toBe(logins);
  expect(bench.countTokens("refresh_token")).toBe(0);
  expect(await whoami(toolport)).toBe("ada");
});

const TOOLS = { tools: { whoami: { handler: () => "ada" } } };

/** A server that can refuse single kinds of requests, with a user logged in. */
async function openRefusing(harness: FaultHarness, transport: "http" | "sse") {
  const server = disposeAtEnd(harness, await startOAuthServer(TOOLS, { transport }));
  const entry =
    transport === "sse"
      ? { transport: "sse" as const, url: server.url }
      : { url: server.url, protocol: "legacy" as const };
  const toolport = harness.open({ it: entry }, { callbackUrl: CALLBACK_URL });
  const authUrl = new URL(await askForLogin(toolport));
  const state = authUrl.searchParams.get("state") ?? "";
  const finish = () =>
    toolport.finishAuth("it", new URLSearchParams({ code: server.approve(authUrl), state }));
  return { server, toolport, finish };
}

for (const status of [401, 403] as const) {
  faultCase("A05", `event stream of legacy HTTP+SSE refused with ${status}`, async (harness) => {
    const { server, toolport, finish } = await openRefusing(harness, "sse");
    server.refusal = ({ method }) => (method === "GET" ? status : undefined);
    await finish().catch(() => {});
    const expected = { code: ["AUTH_REQUIRED", "INSUFFICIENT_SCOPE", "AUTH_FAILED"], server: "it" };
    for (let calls = 0; calls < 2; calls++) {
      const before = server.counts.refresh + server.counts.code;
      await harness.fails(whoami(toolport), { ...expected, withinMs: 2_000 });
      expect(server.counts.refresh + server.counts.code - before).toBeLessThanOrEqual(2);
    }
    await expectFewTokens(server);
  });

  faultCase("A05", `GET stream of a session refused with ${status}`, async (harness) => {
    const { server, toolport, finish } = await openRefusing(harness, "http");
    server.refusal = ({ method }) => (method === "GET" ? status : undefined);
    await finish().catch(harness.note);
    // The stream is optional: a call works without it, or asks for a login if the stream was refused first.
    const outcome = await harness.within(
      atMost(2_000),
      whoami(toolport).catch((error: AuthError) => error.code),
    );
    expect(["ada", "AUTH_REQUIRED", "INSUFFICIENT_SCOPE"]).toContain(outcome);
    await expectFewTokens(server);
  });
}

/** Reconnects ask for no further tokens: checked after the first reconnects. */
async function expectFewTokens(server: OAuthTestServer): Promise<void> {
  await waitFor(() => server.refused > 0);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(server.counts.code).toBe(1);
  expect(server.counts.refresh).toBeLessThanOrEqual(2);
}
