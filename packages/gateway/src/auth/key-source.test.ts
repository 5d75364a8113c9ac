/** The key server of the issuer: rotated keys, unknown keys, and times without it. */
import { SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type AuthBench,
  accepted,
  present,
  rejected,
  startAuthBench,
} from "../../../../test/support/auth-bench.js";
import { createSigningKey, type KeyServer, type SigningKey } from "../../../../test/support/key-server.js";
import { waitFor } from "../../../../test/support/wait-for.js";

let key: SigningKey;
let foreign: SigningKey;
let bench: AuthBench;
let server: KeyServer;

beforeAll(async () => {
  [key, foreign] = await Promise.all([createSigningKey("one"), createSigningKey("one")]);
});

beforeEach(async () => {
  bench = await startAuthBench([key]);
  server = bench.server;
  return () => server[Symbol.asyncDispose]();
});

const claims = (more?: Record<string, unknown>) => bench.claims(more);

describe("the key server", () => {
  it("is asked again for an unknown key, and has rotated its keys", async () => {
    const authenticator = bench.create();
    await accepted(present(authenticator, await key.sign(claims())));
    bench.time += 5_000;
    const next = await createSigningKey("two");
    server.keys = [next.jwk];
    await accepted(present(authenticator, await next.sign(claims())));
    expect(server.count("/keys")).toBe(2);
    // The old key is withdrawn.
    expect((await rejected(present(authenticator, await key.sign(claims({ jti: "2" }))))).status).toBe(401);
  });

  it("is asked once, however many unknown keys are named", async () => {
    const authenticator = bench.create();
    const storm = async () => {
      const tokens = Array.from({ length: 200 }, (_, index) => foreign.sign(claims(), { kid: `k${index}` }));
      const outcomes = (await Promise.all(tokens)).map((token) => rejected(present(authenticator, token)));
      return new Set((await Promise.all(outcomes)).map(({ status }) => status));
    };
    expect(await storm()).toEqual(new Set([401]));
    expect(await storm()).toEqual(new Set([401]));
    expect(server.count("/keys")).toBe(1);
    bench.time += 5_000;
    expect(await storm()).toEqual(new Set([401]));
    expect(server.count("/keys")).toBe(2);
    expect(server.mostOpen).toBe(1);
    // The known key is not affected.
    await accepted(present(authenticator, await key.sign(claims())));
    expect(server.count("/keys")).toBe(2);
  });

  it.each([503, "html", "drop"] as const)(
    "is away (%s): known keys serve on, others get 503",
    async (failure) => {
      const authenticator = bench.create();
      await accepted(present(authenticator, await key.sign(claims())));
      server.failure = failure;
      bench.time += 3_600_000;
      // The keys are old: they are read again in the background.
      await accepted(present(authenticator, await key.sign(claims())));
      await waitFor(() => bench.warnings.length === 1);
      bench.time += 5_000;
      const next = await createSigningKey("two");
      const answer = await rejected(present(authenticator, await next.sign(claims())));
      expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
      expect(answer.headers).not.toHaveProperty("www-authenticate");
      bench.time += 1_000;
      expect(await rejected(present(authenticator, await next.sign(claims())))).toMatchObject({
        status: 503,
        headers: { "retry-after": "4" },
      });
      await accepted(present(authenticator, await key.sign(claims({ jti: "2" }))));
      expect(bench.warnings).toEqual([expect.stringContaining("The known keys stay in use")]);
      server.failure = undefined;
      server.keys = [key.jwk, next.jwk];
      bench.time += 4_000;
      await accepted(present(authenticator, await next.sign(claims())));
    },
  );

  it("is away from the start: 503, then it is back", async () => {
    server.failure = "drop";
    const authenticator = bench.create();
    const token = await key.sign(claims());
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => rejected(present(authenticator, token))),
    );
    expect(outcomes.every(({ status }) => status === 503)).toBe(true);
    expect(server.requests.length).toBe(1);
    expect(bench.warnings).toEqual([expect.stringContaining("Requests get 503")]);
    server.failure = undefined;
    expect((await rejected(present(authenticator, token))).status).toBe(503);
    bench.time += 5_000;
    await accepted(present(authenticator, token));
  });

  it("sends other metadata than that of the issuer", async () => {
    server.metadata = { issuer: "https://evil.example" };
    const authenticator = bench.create();
    expect((await rejected(present(authenticator, await key.sign(claims())))).status).toBe(503);
    expect(bench.warnings).toEqual([expect.stringContaining("another issuer")]);
  });

  it("may not be reached over plain http", async () => {
    server.metadata = { jwks_uri: "http://keys.example/keys" };
    const authenticator = bench.create();
    expect((await rejected(present(authenticator, await key.sign(claims())))).status).toBe(503);
    expect(bench.warnings).toEqual([expect.stringContaining("neither https nor on this machine")]);
  });

  it("publishes symmetric keys, which are not used", async () => {
    const secret = new TextEncoder().encode("a".repeat(32));
    server.keys = [
      { kty: "oct", kid: "sym", alg: "HS256", k: Buffer.from(secret).toString("base64url") },
      key.jwk,
    ];
    const forged = await new SignJWT(claims()).setProtectedHeader({ alg: "HS256", kid: "sym" }).sign(secret);
    expect((await rejected(present(bench.create(), forged))).status).toBe(401);
  });

  it("does not answer before the gateway closes", async () => {
    let release = () => {};
    server.hold = new Promise((resolve) => {
      release = resolve;
    });
    const authenticator = bench.create();
    const waiting = present(authenticator, await key.sign(claims()));
    await waitFor(() => server.requests.length === 1);
    authenticator.close();
    expect((await rejected(waiting)).status).toBe(503);
    release();
  });
});
