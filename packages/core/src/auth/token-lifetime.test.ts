/** Token responses with an unusable `expires_in`: the token is used until the server rejects it. */
import { beforeEach, describe, expect, it } from "vitest";
import { startFakeAuthorizationServer } from "../../../../test/support/fake-authorization-server.js";
import { createClock, createOAuthRig, logInRig } from "../../../../test/support/oauth-rig.js";
import { useServerEach } from "../../../../test/support/use-server.js";

const fake = useServerEach(startFakeAuthorizationServer);

/** 0.4: less than any request takes. 1e300: later than any date. */
const UNUSABLE = [0, -1, null, "soon", "", "-3600", "0", true, [], [3600], {}, 0.4, 1e300];
const CALLS = 40;

const secondsFromNow = (ms: number | undefined) => ms && Math.round((ms - Date.now()) / 1_000);

describe.each(UNUSABLE)("expires_in: %j", (expiresIn) => {
  beforeEach(() => {
    fake.expiresIn = expiresIn;
  });

  it("makes one token request for forty calls, and one more after a 401", async () => {
    const clock = createClock();
    const rig = await logInRig(fake, clock);
    for (let call = 0; call < CALLS; call++) {
      clock.pass(60_000);
      expect((await rig.call()).status).toBe(200);
    }
    expect(fake.tokenRequests()).toHaveLength(1);
    fake.expireAccessTokens();
    expect((await rig.call()).status).toBe(200);
    expect((await rig.call()).status).toBe(200);
    expect(fake.tokenRequests("refresh_token")).toHaveLength(1);
    expect(await rig.oauth.status()).not.toHaveProperty("expiresAt");
  });

  it("lets a login without a refresh token succeed", async () => {
    fake.issuesRefreshTokens = false;
    const rig = await logInRig(fake);
    for (let call = 0; call < CALLS; call++) expect((await rig.call()).status).toBe(200);
    expect(fake.tokenRequests()).toHaveLength(1);
    fake.expireAccessTokens();
    expect(await rig.failure()).toMatchObject({ code: "AUTH_REQUIRED" });
  });

  it("makes one token request with client credentials", async () => {
    const options = { grant: "client_credentials", clientId: "robot", clientSecret: "secret" } as const;
    const rig = createOAuthRig(fake, { options });
    for (let call = 0; call < CALLS; call++) expect((await rig.call()).status).toBe(200);
    expect(fake.tokenRequests()).toHaveLength(1);
  });
});

describe("a usable `expires_in`", () => {
  it.each([[30], ["30"], [" 30 "], [30.5]])("%j is applied", async (expiresIn) => {
    fake.expiresIn = expiresIn;
    const clock = createClock();
    const rig = await logInRig(fake, clock);
    expect(secondsFromNow((await rig.oauth.status()).expiresAt)).toBeGreaterThanOrEqual(29);
    clock.pass(16_000);
    await rig.call();
    expect(fake.tokenRequests("refresh_token")).toHaveLength(1);
  });
});
