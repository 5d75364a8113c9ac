/** The login of the connect page against an issuer that sends wrong answers. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  createSigningKey,
  type KeyServer,
  type SigningKey,
  startKeyServer,
} from "../../../../test/support/key-server.js";
import { defaultPrincipal, SIGNING_ALGORITHMS } from "./auth-options.js";
import { createFetchJson, createIssuer } from "./issuer.js";
import { createRelyingParty, type LoginSecrets } from "./relying-party.js";

let key: SigningKey;
let server: KeyServer;

beforeAll(async () => {
  key = await createSigningKey("one");
});

beforeEach(async () => {
  server = await startKeyServer([key]);
  return () => server[Symbol.asyncDispose]();
});

const seconds = () => Math.floor(Date.now() / 1_000);

function create(clientSecret?: string) {
  const parts = {
    fetchJson: createFetchJson(undefined, new AbortController().signal),
    now: Date.now,
    warn: () => {},
  };
  return createRelyingParty({
    issuer: createIssuer(server.issuer, { jwks: undefined }, parts),
    client: { clientId: "gate way", ...(clientSecret !== undefined && { clientSecret }), scopes: ["email"] },
    redirectUri: "https://tools.example.com/connect/login",
    settings: { algorithms: SIGNING_ALGORITHMS, principal: defaultPrincipal },
    now: Date.now,
  });
}

async function answerWith(
  secrets: LoginSecrets,
  more: Record<string, unknown> = {},
  signer = key,
): Promise<void> {
  const claims = {
    iss: server.issuer,
    sub: "ada",
    aud: "gate way",
    exp: seconds() + 60,
    nonce: secrets.nonce,
    ...more,
  };
  server.tokenAnswer = { status: 200, body: { id_token: await signer.sign(claims) } };
}

const params = (more: Record<string, string> = {}) => new URLSearchParams({ code: "c0de", ...more });

describe("the login at the issuer", () => {
  it("sends PKCE, state and nonce, and names the user", async () => {
    const relyingParty = create();
    const { url, secrets } = await relyingParty.start();
    const query = new URL(url).searchParams;
    expect(query.get("scope")).toBe("openid email");
    expect(query.get("state")).toBe(secrets.state);
    expect(query.get("nonce")).toBe(secrets.nonce);
    expect(url).not.toContain(secrets.verifier);
    await answerWith(secrets);
    expect(await relyingParty.finish(params(), secrets)).toBe(JSON.stringify([server.issuer, "ada"]));
    const [request] = server.tokenRequests;
    expect(Object.fromEntries(request!.body)).toEqual({
      grant_type: "authorization_code",
      code: "c0de",
      redirect_uri: "https://tools.example.com/connect/login",
      code_verifier: secrets.verifier,
      client_id: "gate way",
    });
    expect(request!.authorization).toBeUndefined();
    const other = await relyingParty.start();
    expect(new Set([...Object.values(secrets), ...Object.values(other.secrets)]).size).toBe(6);
  });

  it("sends the secret as a header, or in the body if the issuer accepts only that", async () => {
    const { secrets } = await create("s:1").start();
    await answerWith(secrets);
    await create("s:1").finish(params(), secrets);
    server.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    await create("s:1").finish(params(), secrets);
    const [basic, post] = server.tokenRequests;
    expect(basic?.authorization).toBe(`Basic ${Buffer.from("gate+way:s%3A1").toString("base64")}`);
    expect(basic?.body.has("client_secret")).toBe(false);
    expect(post?.authorization).toBeUndefined();
    expect(post?.body.get("client_secret")).toBe("s:1");
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ["another nonce", { nonce: "x" }, /nonce/],
    ["no nonce", { nonce: undefined }, /nonce/],
    ["another client", { aud: "other" }, /audience/],
    ["several clients without azp", { aud: ["gate way", "other"] }, /azp/],
    ["another authorized party", { azp: "other" }, /azp/],
    ["another issuer", { iss: "https://evil.example" }, /issuer/],
    ["an end in the past", { exp: 1 }, /expired/],
    ["no user", { sub: undefined }, /names no user/],
  ])("refuses an ID token with %s", async (_name, more, message) => {
    const relyingParty = create();
    const { secrets } = await relyingParty.start();
    await answerWith(secrets, more);
    await expect(relyingParty.finish(params(), secrets)).rejects.toThrow(message);
  });

  it("refuses an ID token with a foreign signature", async () => {
    const relyingParty = create();
    const { secrets } = await relyingParty.start();
    await answerWith(secrets, {}, await createSigningKey("one"));
    await expect(relyingParty.finish(params(), secrets)).rejects.toThrow("signature");
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["an error", { error: "access_denied" }, /denied the login/],
    ["no code", { code: "" }, /no code/],
    ["another issuer", { iss: "https://evil.example" }, /another authorization server/],
  ])("refuses a callback with %s, without a token request", async (_name, more, message) => {
    const relyingParty = create();
    const { secrets } = await relyingParty.start();
    await expect(relyingParty.finish(params(more), secrets)).rejects.toThrow(message);
    expect(server.tokenRequests).toEqual([]);
  });

  it("needs `iss` if the issuer announces it", async () => {
    server.metadata = { authorization_response_iss_parameter_supported: true };
    const relyingParty = create();
    const { secrets } = await relyingParty.start();
    await answerWith(secrets);
    await expect(relyingParty.finish(params(), secrets)).rejects.toThrow("another authorization server");
    await relyingParty.finish(params({ iss: server.issuer }), secrets);
  });

  it.each<[string, { status: number; body: unknown }, RegExp]>([
    ["an OAuth error", { status: 400, body: { error: "invalid_grant" } }, /\(invalid_grant\)/],
    ["an error with a text of its own", { status: 400, body: { error: "<b>c0de" } }, /\(HTTP 400\)/],
    ["no ID token", { status: 200, body: { access_token: "x" } }, /\(HTTP 200\)/],
    ["no object", { status: 200, body: ["x"] }, /\(HTTP 200\)/],
  ])("reports an answer with %s", async (_name, answer, message) => {
    const relyingParty = create();
    const { secrets } = await relyingParty.start();
    server.tokenAnswer = answer;
    const error = await relyingParty.finish(params(), secrets).catch((reason: Error) => reason);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain("c0de");
  });

  it.each(["javascript:alert(1)", "http://login.example/authorize", "//evil", ""])(
    "opens no login page at %j",
    async (authorization_endpoint) => {
      server.metadata = { authorization_endpoint };
      await expect(create().start()).rejects.toThrow("login page");
    },
  );

  it("reports an issuer that is away, and works afterwards", async () => {
    const relyingParty = create();
    server.failure = 503;
    await expect(relyingParty.start()).rejects.toThrow("has no metadata");
    server.failure = undefined;
    await relyingParty.start();
  });
});
