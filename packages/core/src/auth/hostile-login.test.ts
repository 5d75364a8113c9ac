/** Malicious authorization servers, MCP servers and callbacks: they receive no credentials. */
import { inspect } from "node:util";
import { createFetchClient } from "@toolport/http/wire-client";
import { memoryStore } from "@toolport/stores";
import { describe, expect, it } from "vitest";
import { startFakeAuthorizationServer } from "../../../../test/support/fake-authorization-server.js";
import { createOAuthRig } from "../../../../test/support/oauth-rig.js";
import { useServerEach } from "../../../../test/support/use-server.js";
import { checkLoginPage } from "../transports/http/credentials/checked-provider.js";
import { finishAuthorization } from "./finish-authorization.js";

const fake = useServerEach(startFakeAuthorizationServer);

const LOGIN_PAGES = [
  "javascript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "vbscript:x",
  "ms-msdt:/id PCWDiagnostic",
  "vscode://settings",
  "ftp://example.com/authorize",
  "http://example.com/authorize",
  "http://127.0.0.1.example.com/authorize",
  "https://user@example.com/authorize",
  "https://user:pw@example.com/authorize",
  "https://example.com/authorize\r\nX: y",
  "https://example.com/ authorize",
  "https://example.com/$(touch x)",
  'https://example.com/"&calc',
  "https://example.com/a`id`",
  "https://example.com/authorize#fragment",
  "https://169.254.169.254/authorize",
  "https://[::ffff:a9fe:a9fe]/authorize",
  "https://router.local/authorize",
  "\u0001https://example.com/authorize",
  "//example.com/authorize",
  "",
];

describe("the address of the login page", () => {
  it.each(LOGIN_PAGES)("is refused before a client is registered or a URL returned: %j", async (page) => {
    fake.metadata = { authorization_endpoint: page };
    const rig = createOAuthRig(fake);
    const error = await rig.call().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(AUTH_FAILED|ADDRESS_REFUSED)$/) });
    expect(error).not.toHaveProperty("authUrl", expect.anything());
    expect(fake.count("POST", "/register")).toBe(0);
    expect(await rig.store.list("oauth/pending/")).toEqual([]);
    await expect(checkLoginPage(page, { serverUrl: "https://mcp.example.com/mcp" })).rejects.toThrow();
  });

  it("is accepted if it is https, or on this machine like the server", async () => {
    const guard = { serverUrl: "http://127.0.0.1:1/mcp" };
    expect((await checkLoginPage("https://example.com/authorize?tenant=1", guard)).host).toBe("example.com");
    expect((await checkLoginPage("http://localhost:2/authorize", guard)).host).toBe("localhost:2");
    await expect(
      checkLoginPage("http://localhost:2/a", { serverUrl: "https://mcp.example.com" }),
    ).rejects.toThrow();
  });
});

describe("an authorization server", () => {
  it.each([[undefined], [[]], [["plain"]]])("without PKCE S256 is refused: %j", async (methods) => {
    fake.metadata = { code_challenge_methods_supported: methods };
    const error = await createOAuthRig(fake).failure();
    expect(error).toMatchObject({ code: "AUTH_FAILED", authUrl: undefined });
    expect(fake.count("POST", "/register")).toBe(0);
  });

  it("without PKCE in OpenID metadata is refused", async () => {
    const described = {
      issuer: fake.origin,
      authorization_endpoint: `${fake.origin}/authorize`,
      token_endpoint: `${fake.origin}/token`,
      jwks_uri: `${fake.origin}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    };
    fake.script = ({ path }) => {
      if (path === "/.well-known/oauth-authorization-server") return { status: 404 };
      return path === "/.well-known/openid-configuration" ? { body: described } : undefined;
    };
    expect(await createOAuthRig(fake).failure()).toMatchObject({ code: "AUTH_FAILED", authUrl: undefined });
  });

  it.each([
    ["another host", "https://honest.example.com"],
    ["a slash more", "SELF/"],
    ["another case", "SELF".toLowerCase()],
  ])("with an issuer of %s is refused", async (_, issuer) => {
    fake.metadata = {
      issuer: issuer.replace(/^SELF/, fake.origin).replace(/^self/, fake.origin.toUpperCase()),
    };
    expect(await createOAuthRig(fake).failure()).toMatchObject({ code: "ISSUER_MISMATCH" });
    expect(fake.count("POST", "/register")).toBe(0);
  });

  it("other than `oauth.issuer` gets nothing", async () => {
    const options = { clientId: "mine", clientSecret: "secret", issuer: "https://auth.example.com" };
    expect(await createOAuthRig(fake, { options }).failure()).toMatchObject({ code: "ISSUER_MISMATCH" });
    expect(fake.requests.every(({ path }) => path === "/mcp" || path.includes("protected-resource"))).toBe(
      true,
    );
  });

  it.each([
    ["5 MB", { body: "x".repeat(5_000_000) }],
    ["HTML", { body: "<html></html>", headers: { "content-type": "text/html" } }],
    ["an error", { status: 503 }],
    ["a redirect elsewhere", { status: 302, headers: { location: "http://127.0.0.2:1/" } }],
  ])("that responds with %s leads to a typed error", async (_, answer) => {
    fake.script = ({ path }) => (path.includes("oauth-authorization-server") ? answer : undefined);
    expect(await createOAuthRig(fake).failure()).toMatchObject({ code: "AUTH_FAILED", authUrl: undefined });
  });

  it("that issues another token type is refused", async () => {
    const rig = createOAuthRig(fake);
    const params = await fake.logIn((await rig.failure()).authUrl!);
    fake.script = ({ path }) =>
      path === "/token" ? { body: { access_token: "x", token_type: "mac" } } : undefined;
    await expect(rig.oauth.finish(params)).rejects.toMatchObject({ code: "AUTH_FAILED" });
    expect(await rig.store.list("oauth/tokens/")).toEqual([]);
  });
});

describe("an MCP server", () => {
  it("that describes another resource is refused", async () => {
    fake.resource = { resource: "https://other.example.com/mcp" };
    expect(await createOAuthRig(fake).failure()).toMatchObject({ code: "AUTH_FAILED" });
    expect(fake.count("POST", "/register")).toBe(0);
  });

  it.each(["http://127.0.0.2:1", "http://169.254.169.254/", "https://10.0.0.1", "https://router.local."])(
    "cannot point us at %s",
    async (place) => {
      const seen: string[] = [];
      const http = async () =>
        createFetchClient((input, init) => {
          seen.push(String(input));
          return fetch(input, init);
        });
      for (const field of [
        "resource_metadata",
        "authorization_servers",
        "token_endpoint",
        "registration_endpoint",
      ]) {
        fake.metadata = { [field]: place };
        fake.resource = field === "authorization_servers" ? { authorization_servers: [place] } : {};
        fake.script = ({ path }) =>
          path === "/mcp" && field === "resource_metadata"
            ? { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${place}"` } }
            : undefined;
        const rig = createOAuthRig(fake, { http });
        await rig.logIn().catch(() => {});
      }
      expect(seen.filter((url) => !url.startsWith(fake.origin))).toEqual([]);
    },
  );

  it("that moves to another authorization server leads to a new login, and the old credentials are not sent there", async () => {
    await using other = await startFakeAuthorizationServer();
    const rig = createOAuthRig(fake);
    await rig.logIn();
    await rig.call();
    const [key] = await rig.store.list("oauth/tokens/");
    const { accessToken, refreshToken } = (await rig.store.get(key!))!.value as Record<string, string>;
    fake.resource = { authorization_servers: [other.origin] };
    fake.expireAccessTokens();
    const error = await rig.failure();
    expect(new URL(error.authUrl!).origin).toBe(other.origin);
    const sent = JSON.stringify(
      other.requests.map(({ headers, body, query }) => [headers, body, String(query)]),
    );
    expect(sent).not.toContain(accessToken);
    expect(sent).not.toContain(refreshToken);
    expect(other.count("POST", "/register")).toBe(1);
    expect(fake.tokenRequests("refresh_token")).toHaveLength(0);
    await rig.oauth.finish(await other.logIn(error.authUrl!));
    for (const token of other.accessTokens) fake.accessTokens.add(token);
    expect((await rig.call()).status).toBe(200);
  });

  it("cannot get a configured client's secret sent to another authorization server", async () => {
    await using other = await startFakeAuthorizationServer();
    const rig = createOAuthRig(fake, { options: { clientId: "mine", clientSecret: "s3cret" } });
    await rig.logIn();
    await rig.oauth.status();
    fake.resource = { authorization_servers: [other.origin] };
    fake.expireAccessTokens();
    expect(await rig.failure()).toMatchObject({ code: "ISSUER_MISMATCH" });
    expect(other.requests.every(({ path }) => path.startsWith("/.well-known/"))).toBe(true);
  });

  it("of another origin receives no token", async () => {
    const rig = createOAuthRig(fake);
    await rig.logIn();
    const fields: unknown[] = [];
    const send = async (sent: unknown) => {
      fields.push(sent);
      return new Response("{}");
    };
    for (const url of ["http://127.0.0.2:1/mcp", "https://example.com/mcp"])
      await rig.oauth.send({ method: "POST", url: new URL(url) }, send);
    expect(fields).toEqual([{}, {}]);
  });
});

describe("a callback", () => {
  const ISSUERS = [
    ["match", (issuer: string) => issuer],
    ["mismatch", () => "https://evil.example.com"],
    ["another case", (issuer: string) => issuer.toUpperCase()],
    ["a slash more", (issuer: string) => `${issuer}/`],
    ["a port more", (issuer: string) => `${issuer}:443`],
  ] as const;

  for (const advertised of [true, false]) {
    it.each(ISSUERS)(`with an issuer (advertised: ${advertised}) of %s`, async (kind, make) => {
      fake.metadata = { authorization_response_iss_parameter_supported: advertised };
      const rig = createOAuthRig(fake);
      const params = await fake.logIn((await rig.failure()).authUrl!);
      params.set("iss", make(fake.origin));
      const ends = rig.oauth.finish(params);
      if (kind === "match") await ends;
      else await expect(ends).rejects.toMatchObject({ code: "ISSUER_MISMATCH" });
      expect(fake.tokenRequests()).toHaveLength(kind === "match" ? 1 : 0);
    });

    it(`without an issuer (advertised: ${advertised})`, async () => {
      fake.metadata = { authorization_response_iss_parameter_supported: advertised };
      const rig = createOAuthRig(fake);
      const params = await fake.logIn((await rig.failure()).authUrl!);
      params.delete("iss");
      const ends = rig.oauth.finish(params);
      if (advertised) await expect(ends).rejects.toMatchObject({ code: "ISSUER_MISMATCH" });
      else await ends;
      expect(fake.tokenRequests()).toHaveLength(advertised ? 0 : 1);
    });
  }

  it.each([
    ["no state", (params: URLSearchParams) => params.delete("state")],
    ["another state", (params: URLSearchParams) => params.set("state", "x".repeat(43))],
    ["two states", (params: URLSearchParams) => params.append("state", "x")],
    ["two codes", (params: URLSearchParams) => params.append("code", "x")],
    ["no code", (params: URLSearchParams) => params.delete("code")],
    ["two issuers", (params: URLSearchParams) => params.append("iss", "https://evil.example.com")],
  ])("with %s is dropped", async (_, change) => {
    const rig = createOAuthRig(fake);
    const params = await fake.logIn((await rig.failure()).authUrl!);
    change(params);
    await expect(rig.oauth.finish(params)).rejects.toBeInstanceOf(Error);
    expect(fake.tokenRequests()).toHaveLength(0);
  });

  it("can be used once", async () => {
    const rig = createOAuthRig(fake);
    const params = await fake.logIn((await rig.failure()).authUrl!);
    const ends = await Promise.allSettled([1, 2, 3].map(() => rig.oauth.finish(params)));
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(fake.tokenRequests()).toHaveLength(1);
  });

  it("at another path, or for another user, is rejected and can still be used by its owner", async () => {
    const store = memoryStore();
    const rig = createOAuthRig(fake, { store });
    const params = await fake.logIn((await rig.failure()).authUrl!);
    const http = async () => createFetchClient();
    await expect(finishAuthorization(params, { store, http, pathname: "/other" })).rejects.toThrow(
      "no login",
    );
    await expect(createOAuthRig(fake, { store, principal: "ann" }).oauth.finish(params)).rejects.toThrow(
      "no login",
    );
    await rig.oauth.finish(params);
  });

  it("with an error leads to an error without its text", async () => {
    const rig = createOAuthRig(fake);
    for (const error of ["access_denied", "<script>alert(1)</script>"]) {
      const params = await fake.logIn((await rig.failure()).authUrl!);
      params.delete("code");
      params.set("error", error);
      params.set("error_description", "EVIL <b>text</b>");
      const caught = await rig.oauth.finish(params).catch((thrown: unknown) => thrown);
      expect(caught).toMatchObject({ code: "AUTH_FAILED", server: "demo" });
      expect(inspect(caught)).not.toMatch(/script|EVIL/);
    }
    expect(fake.tokenRequests()).toHaveLength(0);
  });
});

it("no secret appears in an error, a warning, an inspected object, or a URL", async () => {
  const canaries = ["CANARYsecret", "CANARYcode", "CANARYaccess", "CANARYrefresh"];
  const shown: unknown[] = [];
  const rig = createOAuthRig(fake, {
    options: { clientId: "mine", clientSecret: "CANARYsecret" },
    warn: (message) => shown.push(message),
  });
  const echo = ({ path, body, headers }: { path: string; body: string; headers: object }) =>
    path === "/token"
      ? { status: 400, body: { error: body, error_description: JSON.stringify(headers) } }
      : undefined;
  for (const script of [echo, () => undefined]) {
    const error = await rig.failure();
    shown.push(error, error.authUrl);
    const params = await fake.logIn(error.authUrl!);
    if (script === echo) params.set("code", "CANARYcode");
    fake.script = script;
    shown.push(await rig.oauth.finish(params).catch((thrown: unknown) => thrown));
    fake.script = undefined;
  }
  shown.push(rig.oauth, await rig.oauth.status());
  const text = shown
    .map((value) => `${inspect(value, { depth: 10, showHidden: true })} ${JSON.stringify(value)}`)
    .join();
  for (const canary of canaries) expect(text).not.toContain(canary);
  for (const token of fake.accessTokens) expect(text).not.toContain(token);
});
