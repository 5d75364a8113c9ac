/** A user's login from the first 401 to the tokens: what is requested, sent and checked. */

import { createFetchClient } from "@toolport/http/wire-client";
import { memoryStore } from "@toolport/stores";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type FakeAuthorizationServer,
  startFakeAuthorizationServer,
} from "../../../../test/support/fake-authorization-server.js";
import { CALLBACK, createOAuthRig } from "../../../../test/support/oauth-rig.js";
import { finishAuthorization } from "./finish-authorization.js";

let fake: FakeAuthorizationServer;
const warn = vi.spyOn(console, "warn");

beforeEach(async () => {
  fake = await startFakeAuthorizationServer();
});
afterEach(async () => {
  await fake[Symbol.asyncDispose]();
  expect(warn).not.toHaveBeenCalled();
});

describe("a login", () => {
  it("leads from a 401 through the login page to a response", async () => {
    const rig = createOAuthRig(fake);
    const error = await rig.failure();
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", server: "demo", outcome: "unsent" });
    const url = new URL(error.authUrl!);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: "code",
      client_id: "client-1",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
      redirect_uri: CALLBACK,
      state: expect.stringMatching(/^[\w-]{43}$/),
      resource: fake.mcpUrl.href,
    });
    await rig.oauth.finish(await fake.logIn(error.authUrl!));
    expect((await rig.call()).status).toBe(200);
    const [request] = fake.tokenRequests();
    expect(request!.form.get("resource")).toBe(fake.mcpUrl.href);
    expect(request!.form.get("redirect_uri")).toBe(CALLBACK);
    expect(await rig.oauth.status()).toMatchObject({ authorized: true, issuer: fake.origin });
  });

  it("registers a client that fits its redirect URL", async () => {
    fake.metadata = { scopes_supported: ["read", "offline_access"] };
    fake.challengeScope = "read";
    const rig = createOAuthRig(fake, { options: { clientName: "My app" } });
    const { authUrl } = await rig.failure();
    const body = JSON.parse(fake.requests.find(({ path }) => path === "/register")!.body);
    expect(body).toEqual({
      client_name: "My app",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
      token_endpoint_auth_method: "none",
      scope: "read offline_access",
    });
    expect(new URL(authUrl!).searchParams.get("scope")).toBe("read offline_access");
  });

  it("can be finished by a process that shares only the store", async () => {
    const store = memoryStore();
    const first = createOAuthRig(fake, { store, principal: "ann/é" });
    const params = await fake.logIn((await first.failure()).authUrl!);
    const http = async () => createFetchClient();
    expect(await finishAuthorization(params, { store, http, pathname: "/callback" })).toEqual({
      server: "demo",
      identity: first.context.identity,
      principal: "ann/é",
    });
    expect(await first.oauth.hasNewCredentials()).toBe(true);
    expect((await first.call()).status).toBe(200);
    const later = createOAuthRig(fake, { store, principal: "ann/é" });
    expect((await later.call()).status).toBe(200);
    expect(fake.tokenRequests()).toHaveLength(1);
    await createOAuthRig(fake, { store, principal: "bob" }).failure();
    await createOAuthRig(fake, { store }).failure();
  });

  it("is prepared once for many attempts and processes", async () => {
    const store = memoryStore();
    const rigs = [1, 2, 3].map(() => createOAuthRig(fake, { store }));
    const errors = await Promise.all(rigs.flatMap((rig) => [rig.failure(), rig.failure(), rig.failure()]));
    expect(new Set(errors.map(({ authUrl }) => authUrl)).size).toBe(1);
    expect(fake.count("POST", "/register")).toBe(1);
    expect(await store.list("oauth/pending/")).toHaveLength(1);
  });

  it("is prepared again for other scopes", async () => {
    const rig = createOAuthRig(fake);
    const { authUrl } = await rig.failure();
    fake.challengeScope = "more";
    expect((await rig.failure()).authUrl).not.toBe(authUrl);
  });

  it("needs a redirect URL, and sends no request without one", async () => {
    const rig = createOAuthRig(fake, { callbackUrl: undefined });
    const error = await rig.failure();
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", authUrl: undefined });
    expect(error.message).toContain("oauth.redirectUrl");
    expect(fake.requests).toHaveLength(1);
  });

  it("keeps registrations apart by redirect URL", async () => {
    const store = memoryStore();
    await createOAuthRig(fake, { store }).failure();
    await createOAuthRig(fake, { store, callbackUrl: "https://app.example.com/cb" }).failure();
    expect(fake.count("POST", "/register")).toBe(2);
    const bodies = fake.requests
      .filter(({ path }) => path === "/register")
      .map(({ body }) => JSON.parse(body));
    expect(bodies.map((body) => body.application_type)).toEqual(["native", "web"]);
  });
});

describe("the client", () => {
  it("is the configured one, if there is one", async () => {
    fake.metadata = { client_id_metadata_document_supported: true };
    const options = {
      clientId: "mine",
      clientSecret: "s3+%ä cret",
      clientMetadataUrl: "https://app.example.com/client.json",
    };
    const rig = createOAuthRig(fake, { options });
    await rig.logIn();
    const basic = `Basic ${btoa("mine:s3%2B%25%C3%A4+cret")}`;
    expect(fake.tokenRequests()[0]!.headers.authorization).toBe(basic);
    expect(fake.count("POST", "/register")).toBe(0);
    // The configured secret is not copied into the token record.
    const [key] = await rig.store.list("oauth/tokens/");
    expect(JSON.stringify((await rig.store.get(key!))!.value)).not.toContain("s3+%");
  });

  it("is a metadata document if the authorization server supports it", async () => {
    fake.metadata = { client_id_metadata_document_supported: true };
    const clientMetadataUrl = "https://app.example.com/client.json";
    const { authUrl } = await createOAuthRig(fake, { options: { clientMetadataUrl } }).failure();
    expect(new URL(authUrl!).searchParams.get("client_id")).toBe(clientMetadataUrl);
    expect(fake.count("POST", "/register")).toBe(0);
  });

  it("has to be configured if none can be registered", async () => {
    fake.metadata = { registration_endpoint: undefined };
    const error = await createOAuthRig(fake).failure();
    expect(error.code).toBe("AUTH_FAILED");
    expect(error.message).toContain("oauth.clientId");
  });

  it("is registered again if the authorization server no longer knows it", async () => {
    const rig = createOAuthRig(fake);
    const params = await fake.logIn((await rig.failure()).authUrl!);
    fake.script = ({ path }) =>
      path === "/token" ? { status: 401, body: { error: "invalid_client" } } : undefined;
    await expect(rig.oauth.finish(params)).rejects.toMatchObject({ code: "AUTH_FAILED" });
    fake.script = undefined;
    await rig.logIn();
    expect(fake.count("POST", "/register")).toBe(2);
  });

  it("is registered again for more scopes than before", async () => {
    fake.challengeScope = "read";
    const rig = createOAuthRig(fake);
    await rig.logIn();
    fake.neededScope = "write";
    const { authUrl } = await rig.failure();
    const { scope, client_id: clientId } = Object.fromEntries(new URL(authUrl!).searchParams);
    expect({ scope, clientId }).toEqual({ scope: "read write", clientId: "client-2" });
    await rig.oauth.finish(await fake.logIn(authUrl!));
    expect((await rig.call()).status).toBe(200);
  });

  it("authenticates with a method from the metadata", async () => {
    fake.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    const rig = createOAuthRig(fake, { options: { clientId: "mine", clientSecret: "secret" } });
    await rig.logIn();
    const [request] = fake.tokenRequests();
    expect(request!.form.get("client_secret")).toBe("secret");
    expect(request!.headers.authorization).toBeUndefined();
  });
});

describe("scopes", () => {
  const scopeOf = async (options = {}) =>
    new URL((await createOAuthRig(fake, { options }).failure()).authUrl!).searchParams.get("scope");

  it("come from the challenge, then from the configuration, then from the server's list", async () => {
    expect(await scopeOf()).toBeNull();
    fake.resource = { scopes_supported: ["a", "b"] };
    expect(await scopeOf()).toBe("a b");
    expect(await scopeOf({ scopes: ["c"] })).toBe("c");
    fake.challengeScope = "d";
    expect(await scopeOf()).toBe("d");
    expect(await scopeOf({ scopes: "c" })).toBe("d c");
  });

  it("contain offline_access only if the authorization server lists it", async () => {
    fake.resource = { scopes_supported: ["a", "offline_access"] };
    fake.metadata = { scopes_supported: ["a"] };
    expect(await scopeOf()).toBe("a");
    fake.metadata = { scopes_supported: ["a", "offline_access"] };
    expect(await scopeOf()).toBe("a offline_access");
  });
});

describe("servers of the first revision", () => {
  it("are their own authorization servers, with and without metadata", async () => {
    fake.resource = false;
    const rig = createOAuthRig(fake);
    await rig.logIn();
    expect((await rig.call()).status).toBe(200);
    expect(fake.tokenRequests()[0]!.form.get("resource")).toBe(fake.mcpUrl.href);

    fake.script = ({ path }) => (path.startsWith("/.well-known/") ? { status: 404 } : undefined);
    const bare = createOAuthRig(fake);
    await bare.logIn();
    expect((await bare.call()).status).toBe(200);
  });

  it("are not assumed where credentials of another issuer exist", async () => {
    const rig = createOAuthRig(fake);
    fake.resource = { authorization_servers: [`${fake.origin}/tenant`] };
    fake.script = ({ path }) =>
      path === "/.well-known/oauth-authorization-server/tenant"
        ? {
            body: {
              issuer: `${fake.origin}/tenant`,
              authorization_endpoint: `${fake.origin}/authorize`,
              token_endpoint: `${fake.origin}/token`,
              registration_endpoint: `${fake.origin}/register`,
              response_types_supported: ["code"],
              code_challenge_methods_supported: ["S256"],
            },
          }
        : undefined;
    const params = await fake.logIn((await rig.failure()).authUrl!);
    params.set("iss", `${fake.origin}/tenant`);
    await rig.oauth.finish(params);
    fake.expireAccessTokens();
    fake.resource = false;
    const before = fake.tokenRequests().length;
    expect(await rig.failure()).toMatchObject({ code: "AUTH_FAILED", retryable: true });
    expect(fake.tokenRequests()).toHaveLength(before);
  });

  it("without OAuth only lead to AUTH_REQUIRED", async () => {
    fake.resource = false;
    fake.script = ({ path }) => (path === "/mcp" ? undefined : { status: 404 });
    expect(await createOAuthRig(fake).failure()).toMatchObject({ code: "AUTH_REQUIRED", authUrl: undefined });
  });
});
