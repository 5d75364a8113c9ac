/** Tokens without a user, and tokens that are bound to a key. */
import { createHash, createPublicKey, generateKeyPairSync, verify as verifySignature } from "node:crypto";
import { memoryStore } from "@toolport/stores";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type FakeAuthorizationServer,
  type SeenRequest,
  startFakeAuthorizationServer,
} from "../../../../test/support/fake-authorization-server.js";
import { createOAuthRig } from "../../../../test/support/oauth-rig.js";

let fake: FakeAuthorizationServer;
const warn = vi.spyOn(console, "warn");
beforeEach(async () => {
  fake = await startFakeAuthorizationServer();
});
afterEach(async () => {
  await fake[Symbol.asyncDispose]();
  expect(warn).not.toHaveBeenCalled();
});

const decode = (jwt: string) =>
  jwt
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString())) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

describe("client credentials", () => {
  const options = { grant: "client_credentials", clientId: "robot", clientSecret: "secret" } as const;

  it("get a token with a secret, shared by all callers and renewed by one", async () => {
    fake.challengeScope = "read";
    const clock = { time: Date.now() };
    const store = memoryStore();
    const rigs = Array.from({ length: 4 }, () =>
      createOAuthRig(fake, { options, store, now: () => clock.time }),
    );
    const callAll = () => Promise.all(rigs.flatMap((rig) => [rig.call(), rig.call()]));
    expect((await callAll()).every(({ status }) => status === 200)).toBe(true);
    expect(fake.tokenRequests()).toHaveLength(1);
    const [request] = fake.tokenRequests();
    expect(Object.fromEntries(request!.form)).toEqual({
      grant_type: "client_credentials",
      scope: "read",
      resource: fake.mcpUrl.href,
    });
    expect(request!.headers.authorization).toBe(`Basic ${btoa("robot:secret")}`);
    clock.time += 3_600_000;
    expect((await callAll()).every(({ status }) => status === 200)).toBe(true);
    expect(fake.tokenRequests()).toHaveLength(2);
    expect(fake.tokenRequests()[1]!.form.get("scope")).toBe("read");
  });

  it("get a token with a signed assertion", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const rig = createOAuthRig(fake, {
      options: { grant: "client_credentials", clientId: "robot", privateKey: pem, issuer: fake.origin },
    });
    expect((await rig.call()).status).toBe(200);
    const assertion = fake.tokenRequests()[0]!.form.get("client_assertion")!;
    const [head, claims] = decode(assertion);
    expect(head).toMatchObject({ alg: "ES256" });
    expect(claims).toMatchObject({ iss: "robot", sub: "robot", aud: fake.origin });
    const cut = assertion.lastIndexOf(".");
    const signature = Buffer.from(assertion.slice(cut + 1), "base64url");
    const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
    expect(verifySignature("sha256", Buffer.from(assertion.slice(0, cut)), key, signature)).toBe(true);
  });

  it("request more scopes automatically, once per call", async () => {
    fake.challengeScope = "read";
    const rig = createOAuthRig(fake, { options });
    await rig.call();
    fake.neededScope = "write";
    expect((await rig.call()).status).toBe(200);
    expect(fake.tokenRequests().at(-1)!.form.get("scope")).toBe("read write");
    fake.script = ({ path }) =>
      path === "/mcp"
        ? { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="x y"' } }
        : undefined;
    const before = fake.tokenRequests().length;
    expect(await rig.failure()).toMatchObject({ code: "INSUFFICIENT_SCOPE" });
    expect(fake.tokenRequests().length - before).toBe(1);
  });

  it("that are rejected fail permanently, with one request per call", async () => {
    fake.script = ({ path }) =>
      path === "/token"
        ? { status: 401, body: { error: "invalid_client", error_description: "EVIL" } }
        : undefined;
    const error = await createOAuthRig(fake, { options }).failure();
    expect(error).toMatchObject({ code: "AUTH_FAILED", retryable: false });
    expect(error.message).toContain("invalid_client");
    expect(error.message).not.toContain("EVIL");
    expect(fake.tokenRequests()).toHaveLength(1);
  });

  it("whose tokens the server rejects make at most two token requests per call", async () => {
    const rig = createOAuthRig(fake, { options });
    await rig.call();
    fake.script = ({ path }) => (path === "/mcp" ? { status: 401 } : undefined);
    const before = fake.tokenRequests().length;
    expect(await rig.failure()).toMatchObject({ code: "AUTH_FAILED" });
    expect(fake.tokenRequests().length - before).toBeLessThanOrEqual(2);
    for (let call = 0; call < 10; call++) await rig.failure();
    expect(fake.tokenRequests().length - before).toBeLessThanOrEqual(6);
    fake.script = undefined;
    await rig.oauth.logOut();
    expect((await rig.call()).status).toBe(200);
  });

  it("are bound to the authorization server they were first used with", async () => {
    await using other = await startFakeAuthorizationServer();
    const rig = createOAuthRig(fake, { options });
    await rig.call();
    fake.expireAccessTokens();
    fake.resource = { authorization_servers: [other.origin] };
    expect(await rig.failure()).toMatchObject({ code: "ISSUER_MISMATCH" });
    expect(other.tokenRequests()).toHaveLength(0);
    const moved = createOAuthRig(fake, { store: rig.store, options: { ...options, issuer: other.origin } });
    for (const token of other.accessTokens) fake.accessTokens.add(token);
    await moved.failure();
    expect(other.tokenRequests()).not.toHaveLength(0);
  });
});

describe("workload identity", () => {
  it("sends the platform's token, read each time", async () => {
    let asked = 0;
    const assertion = async () => `platform-${++asked}`;
    const rig = createOAuthRig(fake, { options: { grant: "jwt-bearer", clientId: "robot", assertion } });
    await rig.call();
    fake.expireAccessTokens();
    await rig.call();
    const sent = fake
      .tokenRequests(JWT_BEARER)
      .map(({ form }) => [form.get("assertion"), form.get("client_id")]);
    expect(sent).toEqual([
      ["platform-1", "robot"],
      ["platform-2", "robot"],
    ]);
  });

  it("gives up at the first rejection", async () => {
    const refuse = ({ path }: SeenRequest) =>
      path === "/token" ? { status: 400, body: { error: "invalid_grant" } } : undefined;
    fake.script = refuse;
    const rig = createOAuthRig(fake, { options: { grant: "jwt-bearer", assertion: "CANARY" } });
    const error = await rig.failure();
    expect(error).toMatchObject({ code: "AUTH_FAILED", retryable: false });
    expect(error.message).not.toContain("CANARY");
    expect(fake.tokenRequests()).toHaveLength(1);
  });
});

describe("enterprise-managed authorization", () => {
  async function startIdentityProvider(answer: (request: SeenRequest) => object) {
    const provider = await startFakeAuthorizationServer();
    provider.script = (request) => {
      if (request.path === "/.well-known/openid-configuration")
        return { body: { issuer: provider.origin, token_endpoint: `${provider.origin}/exchange` } };
      return request.path === "/exchange" ? answer(request) : { status: 404 };
    };
    return provider;
  }
  const vouched = {
    access_token: "the-grant",
    issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
    token_type: "N_A",
  };

  it("gets an assertion for the user from the identity provider", async () => {
    await using provider = await startIdentityProvider(() => ({ body: vouched }));
    const rig = createOAuthRig(fake, {
      options: {
        grant: "enterprise",
        clientId: "app",
        clientSecret: "secret",
        enterprise: { issuer: provider.origin, clientId: "idp-app", idToken: () => "id-token" },
      },
    });
    expect((await rig.call()).status).toBe(200);
    const exchange = provider.requests.find(({ path }) => path === "/exchange")!;
    expect(Object.fromEntries(exchange.form)).toMatchObject({
      subject_token: "id-token",
      audience: fake.origin,
      resource: fake.mcpUrl.href,
      client_id: "idp-app",
    });
    const [request] = fake.tokenRequests(JWT_BEARER);
    expect(request!.form.get("assertion")).toBe("the-grant");
    expect(request!.headers.authorization).toBe(`Basic ${btoa("app:secret")}`);
    expect(request!.body).not.toContain("id-token");
  });

  it("fails permanently if the identity provider refuses, and temporarily if it is down", async () => {
    for (const [status, retryable] of [
      [400, false],
      [503, true],
    ] as const) {
      await using provider = await startIdentityProvider(() => ({ status, body: { error: "EVIL" } }));
      const rig = createOAuthRig(fake, {
        options: {
          grant: "enterprise",
          clientId: "app",
          enterprise: { issuer: provider.origin, clientId: "idp-app", idToken: "id-token" },
        },
      });
      const error = await rig.failure();
      expect(error).toMatchObject({ code: "AUTH_FAILED", retryable });
      expect(error.message).not.toContain("EVIL");
    }
    expect(fake.tokenRequests()).toHaveLength(0);
  });
});

describe("bound tokens", () => {
  const options = { dpop: true };
  const proofs = () =>
    fake.requests
      .filter(({ headers }) => headers["dpop"] !== undefined)
      .map(({ path, headers }) => {
        const proof = String(headers["dpop"]);
        const [head, claims] = decode(proof);
        const key = {
          key: createPublicKey({ key: head["jwk"] as never, format: "jwk" }),
          dsaEncoding: "ieee-p1363",
        } as const;
        const cut = proof.lastIndexOf(".");
        const signature = Buffer.from(proof.slice(cut + 1), "base64url");
        expect(verifySignature("sha256", Buffer.from(proof.slice(0, cut)), key, signature)).toBe(true);
        return { path, claims, jwk: JSON.stringify(head["jwk"]), authorization: headers.authorization };
      });

  it("are sent with a proof of the saved key on every request", async () => {
    const store = memoryStore();
    const rig = createOAuthRig(fake, { options, store });
    await rig.logIn();
    await rig.call();
    await createOAuthRig(fake, { options, store }).call();
    fake.expireAccessTokens();
    await rig.call();
    const all = proofs();
    expect(all.map(({ path }) => path)).toEqual(["/token", "/mcp", "/mcp", "/mcp", "/token", "/mcp"]);
    expect(new Set(all.map(({ jwk }) => jwk)).size).toBe(1);
    expect(JSON.parse(all[0]!.jwk)).not.toHaveProperty("d");
    expect(new Set(all.map(({ claims }) => claims["jti"])).size).toBe(all.length);
    for (const { path, claims, authorization } of all) {
      if (path !== "/mcp") continue;
      const token = String(authorization).replace(/^DPoP /, "");
      expect(claims["ath"]).toBe(createHash("sha256").update(token).digest("base64url"));
      expect(claims).toMatchObject({ htm: "POST", htu: fake.mcpUrl.href });
    }
  });

  it("use the nonces of both servers", async () => {
    const nonces: Record<string, string> = { "/token": "as-nonce", "/mcp": "rs-nonce" };
    fake.script = ({ path, headers }) => {
      const nonce = nonces[path];
      const proof = headers["dpop"];
      if (nonce === undefined || proof === undefined || decode(String(proof))[1]["nonce"] === nonce)
        return undefined;
      const field = 'DPoP error="use_dpop_nonce"';
      const status = path === "/token" ? 400 : 401;
      return {
        status,
        headers: { "dpop-nonce": nonce, "www-authenticate": field },
        body: { error: "use_dpop_nonce" },
      };
    };
    // One server plays both roles here, and the SDK keeps one nonce per origin.
    const rig = createOAuthRig(fake, { options });
    await rig.logIn();
    expect((await rig.call()).status).toBe(200);
    expect((await rig.call()).status).toBe(200);
    expect(proofs().filter(({ path }) => path === "/mcp")).toHaveLength(3);
  });

  it("are required", async () => {
    const rig = createOAuthRig(fake, { options });
    const params = await fake.logIn((await rig.failure()).authUrl!);
    fake.script = ({ path }) =>
      path === "/token" ? { body: { access_token: "x", token_type: "Bearer" } } : undefined;
    await expect(rig.oauth.finish(params)).rejects.toThrow("oauth.dpop");
  });
});
