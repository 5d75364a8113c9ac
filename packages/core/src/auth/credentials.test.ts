/** Credentials when the store fails, and when the user logs out. */

import { StateError } from "@toolport/base";
import { memoryStore, type Store } from "@toolport/stores";
import { describe, expect, it } from "vitest";
import { startFakeAuthorizationServer } from "../../../../test/support/fake-authorization-server.js";
import { createClock, createOAuthRig, logInRig } from "../../../../test/support/oauth-rig.js";
import { useServerEach } from "../../../../test/support/use-server.js";

const fake = useServerEach(startFakeAuthorizationServer);

const refreshes = () => fake.tokenRequests("refresh_token").length;

describe("a failing store", () => {
  function fragileStore() {
    const store = memoryStore();
    const state = { broken: false };
    const fragile = new Proxy(store, {
      get(target, name: keyof Store) {
        const method = target[name];
        if (name === "watch" || name === "close") return method;
        return async (...args: never[]) => {
          if (state.broken)
            throw new StateError({ code: "UNAVAILABLE", what: "The store is away", retryable: true });
          return (method as (...all: never[]) => unknown)(...args);
        };
      },
    });
    return { fragile, state };
  }

  it("does not stop calls whose token is valid, and is reported once", async () => {
    const { fragile, state } = fragileStore();
    const clock = createClock();
    const rig = await logInRig(fake, { store: fragile, now: clock.now });
    state.broken = true;
    clock.pass(60_000);
    for (let call = 0; call < 3; call++) expect((await rig.call()).status).toBe(200);
    await expect.poll(() => rig.warnings).toHaveLength(1);
    clock.pass(3_600_000);
    await expect(rig.call()).rejects.toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(refreshes()).toBe(0);
    state.broken = false;
    expect((await rig.call()).status).toBe(200);
  });

  it("that fails while a token is saved: the token stays in memory, and is saved when the store works again", async () => {
    const { fragile, state } = fragileStore();
    const rig = await logInRig(fake, { store: fragile });
    fake.expireAccessTokens();
    fake.script = ({ path, form }) => {
      if (path === "/token" && form.get("grant_type") === "refresh_token") state.broken = true;
      return undefined;
    };
    expect((await rig.call()).status).toBe(200);
    expect((await rig.call()).status).toBe(200);
    const before = await fragile.list("oauth/tokens/").catch(() => undefined);
    expect(before).toBeUndefined();
    state.broken = false;
    await rig.call();
    const [key = ""] = await fragile.list("oauth/tokens/");
    await expect
      .poll(async () => (await fragile.get(key))?.value)
      .toMatchObject({ accessToken: [...fake.accessTokens].at(-1) });
    const other = createOAuthRig(fake, { store: fragile });
    expect((await other.call()).status).toBe(200);
    expect(refreshes()).toBe(1);
    expect(fake.reused).toBe(0);
  });

  it("is reported if no token is cached", async () => {
    const { fragile, state } = fragileStore();
    state.broken = true;
    await expect(createOAuthRig(fake, { store: fragile }).call()).rejects.toMatchObject({
      name: "StateError",
    });
  });
});

describe("logout", () => {
  it("revokes and deletes everything", async () => {
    const rig = await logInRig(fake);
    await rig.oauth.logOut();
    const revoked = fake.requests
      .filter(({ path }) => path === "/revoke")
      .map(({ form }) => form.get("token_type_hint"));
    expect(revoked).toEqual(["refresh_token", "access_token"]);
    expect(await rig.store.list("oauth/")).toEqual([]);
    expect(await rig.oauth.status()).toEqual({ authorized: false });
    expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
    expect(fake.count("POST", "/register")).toBe(2);
  });

  it("deletes the tokens even if the authorization server does not confirm", async () => {
    const rig = await logInRig(fake);
    fake.script = ({ path }) => (path === "/revoke" ? { status: 503 } : undefined);
    await rig.oauth.logOut();
    expect(await rig.store.list("oauth/")).toEqual([]);
    expect(rig.warnings).toHaveLength(1);
  });
});
