/** Access tokens at a gateway: valid ones, forged ones, and other ways to prove who the user is. */
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type AuthBench,
  accepted,
  METADATA_URL,
  present,
  rejected,
  startAuthBench,
  URL_OF_GATEWAY,
} from "../../../../test/support/auth-bench.js";
import { createSigningKey, type KeyServer, type SigningKey } from "../../../../test/support/key-server.js";

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

describe("a token of the issuer", () => {
  it("names the user by issuer and subject, and is checked once", async () => {
    const authenticator = bench.create();
    const token = await key.sign(claims({ scope: "a b" }));
    const expected = {
      principal: JSON.stringify([server.issuer, "ada"]),
      scopes: ["a", "b"],
      expiresAt: (bench.seconds() + 3_600) * 1_000,
    };
    expect(await present(authenticator, token)).toEqual(expected);
    // From memory: no promise, no request.
    expect(present(authenticator, token, "bearer")).toEqual(expected);
    expect(server.requests).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  it.each([
    ["a list in scp", { scp: ["a", "b", 1] }, ["a", "b"]],
    ["a text in scp", { scp: "a" }, ["a"]],
    ["no scope", {}, []],
  ])("reads scopes from %s", async (_name, more, scopes) => {
    expect(await accepted(present(bench.create(), await key.sign(claims(more))))).toMatchObject({ scopes });
  });

  it.each(["RS256", "ES384", "EdDSA"])("may be signed with %s", async (alg) => {
    const other = await createSigningKey("other", alg);
    const authenticator = bench.create({ jwks: { keys: [key.jwk, other.jwk] } });
    await accepted(present(authenticator, await other.sign(claims())));
    expect(server.requests).toEqual([]);
  });

  it("may name several audiences, or the address with a slash at the end", async () => {
    const authenticator = bench.create();
    await accepted(present(authenticator, await key.sign(claims({ aud: ["other", URL_OF_GATEWAY] }))));
    await accepted(present(authenticator, await key.sign(claims({ aud: `${URL_OF_GATEWAY}/` }))));
  });

  it("may name no key, although several fit", async () => {
    const second = await createSigningKey("two");
    const authenticator = bench.create({ jwks: { keys: [second.jwk, key.jwk] } });
    await accepted(present(authenticator, await key.sign(claims(), { kid: undefined })));
    const third = await createSigningKey("three");
    const forged = await rejected(present(authenticator, await third.sign(claims(), { kid: undefined })));
    expect(forged.status).toBe(401);
  });

  it("is checked once by concurrent requests", async () => {
    const authenticator = bench.create({ jwks: server.keysUrl });
    const token = await key.sign(claims());
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => present(authenticator, token)));
    expect(new Set(outcomes).size).toBe(1);
    expect(server.requests).toEqual(["/keys"]);
  });

  it("gets another name by `principal`, or none", async () => {
    const authenticator = bench.create(
      {},
      { principal: ({ claims: all, subject }) => (subject === "eve" ? undefined : String(all["email"])) },
    );
    expect(await present(authenticator, await key.sign(claims({ email: "ada@example.com" })))).toMatchObject({
      principal: "ada@example.com",
    });
    expect(await rejected(present(authenticator, await key.sign(claims({ sub: "eve" }))))).toMatchObject({
      status: 403,
    });
    const broken = bench.create({}, { principal: () => 7 as never });
    expect(await rejected(present(broken, await key.sign(claims())))).toMatchObject({ status: 503 });
    expect(bench.warnings).toEqual([expect.stringContaining("`principal` returned no text")]);
  });

  it("is accepted until it ends, also from memory", async () => {
    const authenticator = bench.create();
    const token = await key.sign(claims({ exp: bench.seconds() + 60 }));
    await accepted(present(authenticator, token));
    bench.time += 59_999;
    await accepted(present(authenticator, token));
    bench.time += 1;
    expect((await rejected(present(authenticator, token))).headers["www-authenticate"]).toContain("expired");
  });

  it("is checked again after five minutes", async () => {
    let checks = 0;
    const authenticator = bench.create({}, { principal: ({ subject }) => `${subject}${++checks}` });
    const token = await key.sign(claims());
    await accepted(present(authenticator, token));
    bench.time += 299_999;
    await accepted(present(authenticator, token));
    expect(checks).toBe(1);
    bench.time += 1;
    expect(await present(authenticator, token)).toMatchObject({ principal: "ada2" });
  });

  it("needs the scopes of the options", async () => {
    const authenticator = bench.create({ scopes: ["tools:use", "more"] });
    await accepted(present(authenticator, await key.sign(claims({ scope: "more tools:use" }))));
    const answer = await rejected(present(authenticator, await key.sign(claims({ scope: "tools:use" }))));
    expect(answer.status).toBe(403);
    expect(answer.headers["www-authenticate"]).toBe(
      'Bearer error="insufficient_scope", error_description="The token lacks a scope that this server needs", ' +
        `scope="tools:use more", resource_metadata="${METADATA_URL}"`,
    );
  });
});

describe("a forged or foreign token", () => {
  const hmac = async () => {
    const spki = await exportSPKI((await importJWK(key.jwk, key.alg, { extractable: true })) as never);
    const forge = (secret: string) =>
      new SignJWT(claims())
        .setProtectedHeader({ alg: "HS256", kid: "one" })
        .sign(new TextEncoder().encode(secret));
    return Promise.all([forge(spki), forge(JSON.stringify(key.jwk))]);
  };
  const cases: Record<string, () => Promise<string | readonly string[]> | string | readonly string[]> = {
    "alg none": () => new UnsecuredJWT(claims()).encode(),
    "HMAC with the public key": hmac,
    "another key with the same id": () => foreign.sign(claims()),
    "another audience": () => key.sign(claims({ aud: "https://other.example.com/mcp" })),
    "no audience": () => key.sign(claims({ aud: undefined })),
    "another issuer": () => key.sign(claims({ iss: "https://evil.example" })),
    "an issuer with a slash": () => key.sign(claims({ iss: `${server.issuer}/` })),
    "no issuer": () => key.sign(claims({ iss: undefined })),
    "no expiry": () => key.sign(claims({ exp: undefined })),
    "an expiry that is no number": () => key.sign(claims({ exp: "never" as never })),
    expired: () => key.sign(claims({ exp: bench.seconds() })),
    "not valid yet": () => key.sign(claims({ nbf: bench.seconds() + 61 })),
    "no subject": () => key.sign(claims({ sub: undefined })),
    "a subject that is no text": () => key.sign(claims({ sub: { toString: "x" } as never })),
    "an endless subject": () => key.sign(claims({ sub: "a".repeat(1_025) })),
    "bound to a key": () => key.sign(claims({ cnf: { jkt: "x" } })),
    "a logout token": () => key.sign(claims(), { typ: "logout+jwt" }),
    "a critical header that is unknown": () => key.sign(claims(), { crit: ["x"], x: 1 }),
    "a key in the header": () => foreign.sign(claims(), { kid: undefined, jwk: foreign.jwk }),
    "a key URL in the header": () => foreign.sign(claims(), { jku: "https://evil.example/keys" }),
    "cut in half": async () => (await key.sign(claims())).slice(0, -20),
    "another payload": async () => {
      const [head, , signature] = (await key.sign(claims())).split(".");
      return `${head}.${Buffer.from(JSON.stringify(claims({ sub: "eve" }))).toString("base64url")}.${signature}`;
    },
    "no token at all": () => ["x.y", "a.b.c", "....", "e30.e30.", "bnVsbA.bnVsbA.AA"],
    "too long": () => "a".repeat(16_385),
  };

  it.each(Object.entries(cases))("gets 401 with a challenge: %s", async (_name, make) => {
    const authenticator = bench.create();
    const made = await make();
    for (const token of typeof made === "string" ? [made] : made) {
      const answer = await rejected(present(authenticator, token));
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toContain('Bearer error="invalid_token"');
      expect(answer.headers["www-authenticate"]).toContain(`resource_metadata="${METADATA_URL}"`);
      expect(answer.body + JSON.stringify(answer.headers)).not.toContain(token);
      // Failures are not kept.
      expect((await rejected(present(authenticator, token))).status).toBe(401);
    }
    expect(bench.warnings).toEqual([]);
  });

  it("may begin up to a minute in the future", async () => {
    await accepted(present(bench.create(), await key.sign(claims({ nbf: bench.seconds() + 59 }))));
  });

  it("of another issuer causes no request to the key server", async () => {
    await rejected(present(bench.create(), await foreign.sign(claims({ iss: "https://evil.example" }))));
    expect(server.requests).toEqual([]);
  });

  it("with an algorithm that the options do not name", async () => {
    const authenticator = bench.create({ algorithms: ["RS256"] });
    expect((await rejected(present(authenticator, await key.sign(claims())))).status).toBe(401);
  });

  it("and requests without a bearer token get a challenge without an error", async () => {
    const authenticator = bench.create({ scopes: ["tools:use"] });
    for (const [token, scheme] of [
      [undefined],
      ["YTpi", "Basic"],
      ["", "Bearer"],
      ["a, Bearer b"],
    ] as const) {
      const answer = await rejected(present(authenticator, token, scheme));
      expect(answer).toMatchObject({
        status: 401,
        headers: { "www-authenticate": `Bearer scope="tools:use", resource_metadata="${METADATA_URL}"` },
      });
    }
  });
});

describe("other ways", () => {
  it("`auth: false` accepts every request", () => {
    expect(present(bench.create(false), undefined)).toEqual({ principal: undefined, scopes: [] });
  });

  it("`token` accepts one token", () => {
    const token = "t".repeat(43);
    const authenticator = bench.create({ token, issuer: undefined as never });
    expect(present(authenticator, token)).toEqual({ principal: undefined, scopes: [] });
    expect(present(authenticator, `${token}x`)).toMatchObject({ status: 401 });
    expect(present(authenticator, token.slice(1))).toMatchObject({ status: 401 });
    expect(present(authenticator, undefined)).toMatchObject({ status: 401 });
  });

  it("`verify` decides by the request", async () => {
    const authenticator = bench.create({
      issuer: undefined as never,
      scopes: ["use"],
      verify: async (asked) => {
        const user = asked.headers.get("x-user");
        if (user === "broken") throw new Error("database secret");
        if (user === "wrong") return { principal: "" };
        if (user === "late") return { principal: user, scopes: ["use"], expiresAt: bench.time };
        if (user === "poor") return { principal: user };
        return user === null ? undefined : { principal: user, scopes: ["use"], expiresAt: bench.time + 1 };
      },
    });
    const ask = (user?: string, more = {}) => {
      const headers = new Headers({ ...(user !== undefined && { "x-user": user }), ...more });
      return authenticator.authenticate(headers, () => new Request("http://127.0.0.1/mcp", { headers }));
    };
    expect(await ask("ada")).toEqual({ principal: "ada", scopes: ["use"], expiresAt: bench.time + 1 });
    expect(await ask()).toMatchObject({ status: 401 });
    expect((await rejected(ask(undefined, { authorization: "Bearer x" }))).body).toContain("invalid_token");
    expect(await ask("late")).toMatchObject({ status: 401 });
    expect(await ask("poor")).toMatchObject({ status: 403 });
    const failed = await rejected(ask("broken"));
    expect(failed.status).toBe(503);
    expect(JSON.stringify(failed)).not.toContain("secret");
    expect((await rejected(ask("wrong"))).status).toBe(503);
    expect(bench.warnings).toHaveLength(2);
  });
});

describe("the metadata document", () => {
  it("is at the address of the challenge, and at that of the host", () => {
    const authenticator = bench.create({ scopes: ["tools:use"] });
    const document = {
      resource: URL_OF_GATEWAY,
      authorization_servers: [server.issuer],
      scopes_supported: ["tools:use"],
      bearer_methods_supported: ["header"],
      resource_name: "Toolport",
    };
    for (const path of ["", "/", "/mcp", "/mcp/"]) {
      const text = authenticator.metadata(`/.well-known/oauth-protected-resource${path}`);
      expect(JSON.parse(text ?? "")).toEqual(document);
    }
    for (const path of [
      "/.well-known/oauth-protected-resource/other",
      "/.well-known/oauth-protected-resourceX",
      "/",
    ])
      expect(authenticator.metadata(path)).toBeUndefined();
  });

  it("is found by the SDK's client from the challenge", async () => {
    const { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams } = await import(
      "@modelcontextprotocol/client"
    );
    const authenticator = bench.create({ scopes: ["tools:use"] });
    const { status, headers } = await rejected(present(authenticator, "x.y"));
    const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(
      new Response(null, { status, headers }),
    );
    expect({ url: resourceMetadataUrl?.href, scope, error }).toEqual({
      url: METADATA_URL,
      scope: "tools:use",
      error: "invalid_token",
    });
    const answer = async (url: string | URL) =>
      new Response(authenticator.metadata(new URL(url).pathname) ?? null, { status: 200 });
    const found = await discoverOAuthProtectedResourceMetadata(
      URL_OF_GATEWAY,
      { resourceMetadataUrl },
      answer as never,
    );
    expect(found).toMatchObject({ resource: URL_OF_GATEWAY, authorization_servers: [server.issuer] });
  });

  it("needs the address of the gateway", async () => {
    const authenticator = bench.create({ audience: "tools" }, { url: undefined as never });
    expect(authenticator.metadata("/.well-known/oauth-protected-resource")).toBeUndefined();
    expect(await present(authenticator, undefined)).toMatchObject({
      headers: { "www-authenticate": 'Bearer realm="toolport"' },
    });
    await accepted(present(authenticator, await key.sign(claims({ aud: "tools" }))));
  });
});
