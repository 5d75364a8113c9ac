/** Expiring and rejected tokens: one request for new ones, whichever call notices, and never a loop. */

import type { ObservedExchange } from "@toolport/http/guarded-fetch";
import { memoryStore, type Store } from "@toolport/stores";
import { describe, expect, it } from "vitest";
import { startFakeAuthorizationServer } from "../../../../test/support/fake-authorization-server.js";
import {
  createClock,
  createOAuthRig,
  logInRig,
  type RigOptions,
} from "../../../../test/support/oauth-rig.js";
import { useServerEach } from "../../../../test/support/use-server.js";

const fake = useServerEach(startFakeAuthorizationServer);

const refreshes = () => fake.tokenRequests("refresh_token").length;

const loggedIn = (options?: RigOptions) => logInRig(fake, options);

const saved = async (store: Store) => {
  const [key = ""] = await store.list("oauth/tokens/");
  return { key, record: (await store.get(key))?.value as Record<string, unknown> | undefined };
};

describe("a token that expires soon", () => {
  it("is renewed 60 s before it expires, with one request for fifty calls", async () => {
    const clock = createClock();
    const rig = await loggedIn(clock);
    clock.pass(3_539_000);
    await rig.call();
    expect(refreshes()).toBe(0);
    clock.pass(1_001);
    const answers = await Promise.all(Array.from({ length: 50 }, () => rig.call()));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(refreshes()).toBe(1);
    const [request] = fake.tokenRequests("refresh_token");
    expect(request!.form.get("resource")).toBe(fake.mcpUrl.href);
    // The endpoints saved at the login are enough for that.
    expect(fake.count("GET", "/.well-known/oauth-authorization-server")).toBe(1);
  });

  it("is renewed once by many ServerOAuth objects over one store, twenty times in a row", async () => {
    const clock = createClock();
    const store = memoryStore();
    await loggedIn({ store, now: clock.now });
    const rigs = Array.from({ length: 8 }, () => createOAuthRig(fake, { store, now: clock.now }));
    for (let cycle = 1; cycle <= 20; cycle++) {
      clock.pass(3_600_001);
      const answers = await Promise.all(rigs.flatMap((rig) => [rig.call(), rig.call(), rig.call()]));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(refreshes()).toBe(cycle);
    }
    expect(fake.reused).toBe(0);
  });

  it("is used until it expires while the authorization server is down, and kept after that", async () => {
    const clock = createClock();
    const rig = await loggedIn(clock);
    fake.script = ({ path }) => (path === "/token" ? { status: 503 } : undefined);
    clock.pass(3_550_000);
    expect((await rig.call()).status).toBe(200);
    expect((await rig.call()).status).toBe(200);
    expect(refreshes()).toBe(1);
    clock.pass(60_000);
    expect(await rig.failure()).toMatchObject({ code: "AUTH_FAILED", retryable: true });
    fake.script = undefined;
    expect((await rig.call()).status).toBe(200);
  });

  it("with a lifetime under two minutes is not renewed with every request", async () => {
    fake.expiresIn = 30;
    const clock = createClock();
    const rig = await loggedIn(clock);
    clock.pass(14_000);
    await rig.call();
    expect(refreshes()).toBe(0);
    clock.pass(2_000);
    await rig.call();
    expect(refreshes()).toBe(1);
  });
});

describe("a rejected token", () => {
  it("is renewed with one request, however many calls were rejected", async () => {
    const rig = await loggedIn();
    fake.expireAccessTokens();
    const answers = await Promise.all(Array.from({ length: 20 }, () => rig.call()));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(refreshes()).toBe(1);
  });

  it("is replaced by a newer one in the store, without a request", async () => {
    const store = memoryStore();
    const first = await loggedIn({ store });
    const second = createOAuthRig(fake, { store });
    await second.call();
    fake.expireAccessTokens();
    await first.call();
    expect((await second.call()).status).toBe(200);
    expect(refreshes()).toBe(1);
  });

  it("triggers a new discovery of the authorization server", async () => {
    const rig = await loggedIn();
    fake.expireAccessTokens();
    await rig.call();
    expect(fake.count("GET", "/.well-known/oauth-protected-resource/mcp")).toBe(2);
  });

  it("leads to at most one more request if the server rejects every token, then to a login", async () => {
    const rig = await loggedIn();
    fake.script = ({ path }) => (path === "/mcp" ? { status: 401 } : undefined);
    const before = fake.requests.length;
    const errors = [await rig.failure(), await rig.failure(), await rig.failure()];
    expect(errors.map(({ code }) => code)).toEqual(["AUTH_REQUIRED", "AUTH_REQUIRED", "AUTH_REQUIRED"]);
    expect(new Set(errors.map(({ authUrl }) => authUrl)).size).toBe(1);
    expect(refreshes()).toBe(1);
    const tokens = fake.requests
      .slice(before)
      .filter(({ path }) => path === "/mcp")
      .map(({ headers }) => headers.authorization);
    expect(new Set(tokens).size).toBe(3);
    expect(tokens.filter((token) => token === undefined)).toHaveLength(2);
  });

  it("ends after three logins whose tokens were rejected", async () => {
    const rig = createOAuthRig(fake);
    fake.script = ({ path }) => (path === "/mcp" ? { status: 401 } : undefined);
    for (let login = 0; login < 3; login++) await rig.logIn();
    const error = await rig.failure();
    expect(error).toMatchObject({ code: "AUTH_FAILED", retryable: false, authUrl: undefined });
    expect(await rig.failure()).toMatchObject({ code: "AUTH_FAILED" });
    expect(fake.count("GET", "/authorize")).toBe(3);
    for (const code of ["authorization_code", "refresh_token"]) {
      expect(fake.tokenRequests(code).length).toBeLessThanOrEqual(3);
    }
    fake.script = undefined;
    await rig.oauth.logOut();
    await rig.logIn();
    expect((await rig.call()).status).toBe(200);
  });
});

it("a server that rejected valid tokens for a while gets them again, without a login", async () => {
  const clock = createClock();
  const rig = await loggedIn(clock);
  fake.script = ({ path }) => (path === "/mcp" ? { status: 401 } : undefined);
  await rig.failure();
  fake.script = undefined;
  expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
  clock.pass(300_001);
  expect((await rig.call()).status).toBe(200);
  expect(fake.count("GET", "/authorize")).toBe(1);
});

describe("a refresh token that is no longer valid", () => {
  it("leads to one login, and only the record that was read is deleted", async () => {
    const rig = await loggedIn();
    fake.expireAccessTokens();
    fake.script = ({ path, form }) =>
      path === "/token" && form.get("grant_type") === "refresh_token"
        ? { status: 400, body: { error: "invalid_grant" } }
        : undefined;
    const errors = [await rig.failure(), await rig.failure()];
    expect(errors[0]).toMatchObject({ code: "AUTH_REQUIRED", authUrl: expect.any(String) });
    expect(errors[1]!.authUrl).toBe(errors[0]!.authUrl);
    expect(refreshes()).toBe(1);
    expect(await rig.store.list("oauth/tokens/")).toEqual([]);
    await rig.oauth.finish(await fake.logIn(errors[0]!.authUrl!));
    expect((await rig.call()).status).toBe(200);
  });

  it("does not matter if a newer one was saved meanwhile", async () => {
    const store = memoryStore();
    const rig = await loggedIn({ store });
    const { key, record } = await saved(store);
    fake.expireAccessTokens();
    const login = createOAuthRig(fake, { store });
    fake.script = async ({ path, form }) => {
      if (path !== "/token" || form.get("grant_type") !== "refresh_token") return undefined;
      fake.accessTokens.add("newer");
      // Another process, which ignores the lease, is faster.
      await store.put(key, { ...record, accessToken: "newer" }, { secret: true });
      return { status: 400, body: { error: "invalid_grant" } };
    };
    expect((await rig.call()).status).toBe(200);
    expect((await saved(store)).record?.accessToken).toBe("newer");
    expect((await login.call()).status).toBe(200);
    expect(refreshes()).toBe(1);
  });

  it("does not restore what a logout has deleted", async () => {
    const store = memoryStore();
    const rig = await loggedIn({ store });
    const { key } = await saved(store);
    fake.expireAccessTokens();
    fake.script = async ({ path, form }) => {
      if (path === "/token" && form.get("grant_type") === "refresh_token") await store.delete(key);
      return undefined;
    };
    expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
    expect(await store.list("oauth/tokens/")).toEqual([]);
  });

  it("was used by a process that died before it saved: one rejection, one login, no loop", async () => {
    const store = memoryStore();
    const rig = await loggedIn({ store });
    const { record } = await saved(store);
    // The first process: its response is never saved.
    await fetch(`${fake.origin}/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: String(record?.refreshToken) }),
    });
    fake.expireAccessTokens();
    const before = refreshes();
    expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
    expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
    expect(refreshes() - before).toBe(1);
  });
});

describe("a lease held by another process", () => {
  it("is waited for, and its result is used", async () => {
    const store = memoryStore();
    const rig = await loggedIn({ store });
    const { key, record } = await saved(store);
    const lease = await store.lease(key.replace("oauth/tokens/", "oauth/refresh/"), { ttlMs: 15_000 });
    fake.expireAccessTokens();
    const call = rig.call();
    fake.accessTokens.add("theirs");
    await new Promise((resolve) => setTimeout(resolve, 150));
    await store.put(key, { ...record, accessToken: "theirs" }, { secret: true, lease });
    expect((await call).status).toBe(200);
    expect(refreshes()).toBe(0);
    await lease?.release();
  });
});

describe("scopes", () => {
  it("that are missing lead to a login for them and the existing ones", async () => {
    fake.challengeScope = "read";
    const rig = await loggedIn();
    fake.neededScope = "write";
    const error = await rig.failure();
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", status: 403 });
    expect(new URL(error.authUrl!).searchParams.get("scope")).toBe("read write");
    expect(await rig.oauth.hasNewCredentials()).toBe(false);
    await rig.oauth.finish(await fake.logIn(error.authUrl!));
    expect(await rig.oauth.hasNewCredentials()).toBe(true);
    expect((await rig.call()).status).toBe(200);
    expect(refreshes()).toBe(0);
  });

  it("that were requested and are still missing are not requested again", async () => {
    const rig = createOAuthRig(fake);
    fake.challengeScope = "admin";
    await rig.logIn();
    const field = `Bearer error="insufficient_scope", scope="admin"`;
    fake.script = ({ path }) =>
      path === "/mcp" ? { status: 403, headers: { "www-authenticate": field } } : undefined;
    expect(await rig.failure()).toMatchObject({
      code: "INSUFFICIENT_SCOPE",
      status: 403,
      authUrl: undefined,
    });
    expect(fake.count("GET", "/authorize")).toBe(1);
  });

  it("that grow with every response end after three logins", async () => {
    const rig = await loggedIn();
    let asked = 0;
    fake.script = ({ path }) => {
      if (path !== "/mcp") return undefined;
      const field = `Bearer error="insufficient_scope", scope="s${asked++}"`;
      return { status: 403, headers: { "www-authenticate": field } };
    };
    for (let login = 0; login < 3; login++) await rig.logIn();
    expect(await rig.failure()).toMatchObject({ code: "INSUFFICIENT_SCOPE" });
  });

  it("a 403 without a scope challenge is returned as it is", async () => {
    const rig = await loggedIn();
    fake.script = ({ path }) => (path === "/mcp" ? { status: 403 } : undefined);
    expect((await rig.call()).status).toBe(403);
  });
});

it("the challenge is observed without the token that the server repeats in it", async () => {
  const seen: ObservedExchange[] = [];
  const rig = createOAuthRig(fake, { observe: (exchange) => void seen.push(exchange) });
  await rig.logIn();
  fake.script = ({ path, headers }) => {
    const field = `Bearer error="insufficient_scope", scope="x", realm="${headers["authorization"]}"`;
    return path === "/mcp" ? { status: 403, headers: { "www-authenticate": field } } : undefined;
  };
  await rig.failure();
  const challenges = seen.flatMap(({ challenge, status }) =>
    challenge === undefined ? [] : [[status, challenge]],
  );
  expect(challenges).toEqual([
    [401, expect.stringContaining("Bearer")],
    [403, 'Bearer error="insufficient_scope", scope="x", realm="Bearer [redacted]"'],
  ]);
});

it("an abort ends the wait for a token at once", async () => {
  const rig = await loggedIn();
  fake.expireAccessTokens();
  let release = () => {};
  const held = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
  fake.script = ({ path }) => (path === "/token" ? held : undefined);
  const stop = new AbortController();
  const { signal } = stop;
  const call = rig.oauth.send({ method: "POST", url: fake.mcpUrl, signal }, (headers) =>
    fetch(fake.mcpUrl, { method: "POST", headers }),
  );
  await expect.poll(() => refreshes()).toBe(1);
  stop.abort(new Error("stop"));
  await expect(call).rejects.toThrow("stop");
  release();
  expect((await rig.call()).status).toBe(200);
});
