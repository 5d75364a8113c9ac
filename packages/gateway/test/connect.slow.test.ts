/** A user connects an upstream server: only in the own browser, only as the user whom the link names, only once. */
import { memoryStore, type Store } from "toolport";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn, refuseLogin } from "../../../test/support/oauth-browser.js";
import type { GatewayUserOptions } from "../src/auth/auth-options.js";
import { createAuthenticator } from "../src/auth/authenticator.js";
import { hashOf } from "../src/auth/relying-party.js";
import { type ConnectBench, PageBrowser, startConnectBench } from "./connect-bench.js";

const ORIGIN = "https://tools.example.com";
const CLIENT = {
  client_id: "gateway",
  client_secret: "gateway: secret/+%",
  redirect_uris: [`${ORIGIN}/connect/login`],
};

let issuer: OAuthBench;
let vault: OAuthBench;
let ada: string;

beforeAll(async () => {
  [issuer, vault] = await Promise.all([
    startOAuthBench({ clients: [CLIENT], signedResource: `${ORIGIN}/mcp` }),
    startOAuthBench(),
  ]);
  ada = JSON.stringify([issuer.issuer, "ada"]);
});

afterAll(async () => {
  await Promise.all([issuer?.[Symbol.asyncDispose](), vault?.[Symbol.asyncDispose]()]);
});

beforeEach(() => {
  vault.requestLines.length = 0;
});

const relyingParty = (): GatewayUserOptions => ({
  auth: { issuer: issuer.issuer, connect: { clientId: "gateway", clientSecret: CLIENT.client_secret } },
});

const start = (
  users: GatewayUserOptions = relyingParty(),
  more: { store?: Store; now?: () => number } = {},
) => startConnectBench({ url: `${ORIGIN}/mcp`, upstream: vault.url, users, ...more });

const linkOf = ({ connect }: ConnectBench, principal = ada) => connect.link(principal, "vault") ?? "";

/** From the link to the login page of the upstream server. */
async function reachVault(browser: PageBrowser, link: string, user = "ada"): Promise<string> {
  const back = await logIn(await browser.follow(link), user);
  return browser.follow(back);
}

const whoami = async ({ toolport }: ConnectBench, principal = ada) =>
  (await toolport.as(principal).callTool("vault__whoami")).content;

/** Upstream credentials in the store. */
const tokensIn = async (store: Store) => (await store.list("")).filter((key) => key.includes("token"));

describe("the connect page", () => {
  it("leads through both logins, and the user's calls go on", async () => {
    await using bench = await start();
    await expect(whoami(bench)).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    const link = linkOf(bench);
    expect(link).toMatch(/^https:\/\/tools\.example\.com\/connect\/[\w-]+$/);
    const browser = new PageBrowser(bench.connect);
    const loginPage = await browser.follow(link);
    expect(Object.fromEntries(new URL(loginPage).searchParams)).toMatchObject({
      response_type: "code",
      client_id: "gateway",
      scope: "openid",
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    const vaultPage = await browser.follow(await logIn(loginPage, "ada"));
    expect(vaultPage.startsWith(vault.issuer)).toBe(true);
    // The login at the issuer has ended; that at the server has begun.
    expect([...browser.cookies.keys()]).toEqual([expect.stringMatching(/^__Host-toolport-upstream-/)]);
    const back = await logIn(vaultPage, "ada-at-vault");
    const page = await browser.open(back, { "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" });
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(await page.text()).toContain("You are logged in");
    expect(browser.cookies.size).toBe(0);
    expect(await whoami(bench)).toEqual([{ type: "text", text: "ada-at-vault" }]);
    expect(await tokensIn(bench.store)).toHaveLength(1);
    await expect(whoami(bench, "other")).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(bench.warnings).toEqual([]);
    // The callback works once.
    expect((await browser.open(back)).status).toBe(403);
    // Logged in already: no second login.
    const again = await reachVault(browser, linkOf(bench)).catch((error: Error) => error.message);
    expect(again).toMatch(/No redirect: 200 .*You are logged in/s);
  });

  it("knows the user of a real access token", async () => {
    const verifier = "v".repeat(43);
    const query = new URLSearchParams({
      client_id: CLIENT.client_id,
      redirect_uri: CLIENT.redirect_uris[0]!,
      response_type: "code",
      scope: "openid tools:read",
      resource: `${ORIGIN}/mcp`,
      code_challenge: hashOf(verifier),
      code_challenge_method: "S256",
    });
    const code = (await logIn(`${issuer.issuer}/auth?${query}`)).searchParams.get("code") ?? "";
    const secret = CLIENT.client_secret;
    const pair = [CLIENT.client_id, secret].map((text) =>
      new URLSearchParams({ a: text }).toString().slice(2),
    );
    const response = await fetch(`${issuer.issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(pair.join(":")).toString("base64")}` },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        code_verifier: verifier,
        redirect_uri: CLIENT.redirect_uris[0]!,
      }),
    });
    const { access_token: token, id_token: idToken } = (await response.json()) as Record<string, string>;
    const users = { ...relyingParty(), url: `${ORIGIN}/mcp` };
    const authenticator = createAuthenticator(users, { warn: () => {} });
    const present = (text = "") =>
      authenticator.authenticate(new Headers({ authorization: `Bearer ${text}` }), () => new Request(ORIGIN));
    expect(await present(token)).toMatchObject({ principal: ada, scopes: ["tools:read"] });
    // An ID token is no access token: its audience is the client.
    expect(await present(idToken)).toMatchObject({ status: 401 });
    authenticator.close();
  });

  it("asks again for more scopes of a connected server", async () => {
    await using bench = await start();
    const browser = new PageBrowser(bench.connect);
    await browser.open(await logIn(await reachVault(browser, linkOf(bench))));
    await expect(bench.toolport.as(ada).callTool("vault__erase")).rejects.toMatchObject({
      code: "AUTH_REQUIRED",
    });
    const vaultPage = await reachVault(browser, linkOf(bench));
    expect(new URL(vaultPage).searchParams.get("scope")).toContain("tools:admin");
    await browser.open(await logIn(vaultPage));
    expect((await bench.toolport.as(ada).callTool("vault__erase")).isError).toBe(false);
  });

  it("refuses user B with A's link, and saves nothing; A can still use it", async () => {
    await using bench = await start();
    const link = linkOf(bench);
    const before = await bench.store.list("");
    const bob = new PageBrowser(bench.connect);
    const page = await bob.open(await logIn(await bob.follow(link), "bob"));
    expect(page.status).toBe(403);
    expect(await page.text()).toContain("another user");
    expect(bob.cookies.size).toBe(0);
    expect(await bench.store.list("")).toEqual(before);
    expect(vault.requestLines).toEqual([]);
    expect(bench.warnings).toEqual([expect.stringContaining("link of another user")]);
    expect(await reachVault(new PageBrowser(bench.connect), link)).toContain(vault.issuer);
  });

  it("refuses a login that B started and A finishes: in a fresh browser and in A's", async () => {
    await using bench = await start();
    const bob = new PageBrowser(bench.connect);
    const principal = JSON.stringify([issuer.issuer, "bob"]);
    const bobsPage = await reachVault(bob, linkOf(bench, principal), "bob");
    // Ada opens the login page that Bob sends her, and agrees. Her browser has a login of its own in progress.
    const adas = new PageBrowser(bench.connect);
    await reachVault(adas, linkOf(bench));
    const back = await logIn(bobsPage, "ada-at-vault");
    for (const browser of [new PageBrowser(bench.connect), adas]) {
      const page = await browser.open(back);
      expect(page.status).toBe(403);
      expect(await page.text()).toContain("not started in this browser");
    }
    expect(await tokensIn(bench.store)).toEqual([]);
    // Bob's cookies under another name, and the cookie of another login under this name.
    const [[name = "", value = ""] = []] = bob.cookies;
    const [[, adasValue = ""] = []] = adas.cookies;
    for (const cookie of [`x${name}=${value}`, `${name}=${adasValue}`, `${name}=${value}; ${name}=${value}`])
      expect((await new PageBrowser(bench.connect).open(back, { cookie })).status).toBe(403);
    expect(await tokensIn(bench.store)).toEqual([]);
    // Nothing was consumed: Bob can finish with his own account.
    expect((await bob.open(await logIn(bobsPage, "bob-at-vault"))).status).toBe(200);
    expect(await whoami(bench, principal)).toEqual([{ type: "text", text: "bob-at-vault" }]);
  });

  it("accepts a link once, also of two browsers at the same time", async () => {
    await using bench = await start();
    const link = linkOf(bench);
    const browsers = [new PageBrowser(bench.connect), new PageBrowser(bench.connect)];
    const backs = await Promise.all(browsers.map(async (each) => logIn(await each.follow(link), "ada")));
    const pages = await Promise.all(browsers.map((each, index) => each.open(backs[index]!)));
    expect(pages.map(({ status }) => status).sort()).toEqual([302, 410]);
    expect((await new PageBrowser(bench.connect).open(link)).status).toBe(410);
    expect(new Set(pages.map((page) => page.headers.get("location") ?? "")).size).toBe(2);
  });

  it("accepts a link on every replica, and once on all of them", async () => {
    const store = memoryStore();
    await using first = await start(relyingParty(), { store });
    await using second = await start(relyingParty(), { store });
    const link = linkOf(first);
    const browser = new PageBrowser(second.connect);
    const vaultPage = await reachVault(browser, link);
    expect((await new PageBrowser(first.connect).open(link)).status).toBe(410);
    // The browser returns to the other replica.
    const other = new PageBrowser(first.connect);
    for (const [name, value] of browser.cookies) other.cookies.set(name, value);
    expect((await other.open(await logIn(vaultPage, "ada-at-vault"))).status).toBe(200);
    expect(await whoami(second)).toEqual([{ type: "text", text: "ada-at-vault" }]);
  });

  it("refuses links that are expired, changed, of another gateway, or no links", async () => {
    let time = Date.now();
    await using bench = await start(relyingParty(), { now: () => time });
    await using foreign = await start();
    const link = linkOf(bench);
    const sealed = link.slice(link.lastIndexOf("/") + 1);
    const browser = new PageBrowser(bench.connect);
    const changed = [0, 5, 12, 40, sealed.length - 2].map((index) => {
      const letter = sealed[index] === "A" ? "B" : "A";
      return `${ORIGIN}/connect/${sealed.slice(0, index)}${letter}${sealed.slice(index + 1)}`;
    });
    const others = [`${ORIGIN}/connect/`, `${ORIGIN}/connect/x`, linkOf(foreign), link.slice(0, -1)];
    for (const url of [...changed, ...others]) expect((await browser.open(url)).status).toBe(410);
    const loginPage = await browser.follow(link);
    // A cookie is no link.
    const [value = ""] = browser.cookies.values();
    expect((await browser.open(`${ORIGIN}/connect/${value}`)).status).toBe(410);
    time += 600_000;
    expect((await browser.open(link)).status).toBe(410);
    expect((await browser.open(await logIn(loginPage))).status).toBe(403);
    expect(browser.cookies.size).toBe(1);
  });

  it("refuses answers of the issuer without the cookie, for another login, and errors", async () => {
    await using bench = await start();
    const browser = new PageBrowser(bench.connect);
    const loginPage = await browser.follow(linkOf(bench));
    const back = await logIn(loginPage);
    expect((await new PageBrowser(bench.connect).open(back)).status).toBe(403);
    // The attacker's code with the victim's state, and the attacker's whole answer.
    const attacker = new PageBrowser(bench.connect);
    const attackersBack = await logIn(await attacker.follow(linkOf(bench)), "eve");
    expect((await browser.open(attackersBack)).status).toBe(403);
    const mixed = new URL(back);
    mixed.searchParams.set("code", attackersBack.searchParams.get("code") ?? "");
    const failed = await browser.open(mixed);
    expect(failed.status).toBe(502);
    expect(bench.warnings).toEqual([
      expect.stringContaining("rejected the code of the login (invalid_grant)"),
    ]);
    expect(bench.warnings.join()).not.toContain(mixed.searchParams.get("code"));
    // The cookie was deleted.
    expect((await browser.open(back)).status).toBe(403);
    for (const query of ["", "?state=", "?state=a&state=b", "?code=x"])
      expect((await browser.open(`${ORIGIN}/connect/login${query}`)).status).toBe(400);
    const refused = await refuseLogin(await browser.follow(linkOf(bench)));
    expect((await browser.open(refused)).status).toBe(502);
    const mixedUp = await logIn(await browser.follow(linkOf(bench)));
    mixedUp.searchParams.set("iss", "https://evil.example");
    expect((await browser.open(mixedUp)).status).toBe(502);
    expect(vault.requestLines).toEqual([]);
  });

  it("is opened only by a person: no form, frame, script or prefetch, and no other redirect", async () => {
    await using bench = await start();
    const link = linkOf(bench);
    const browser = new PageBrowser(bench.connect);
    expect((await browser.open(link, {}, "POST")).status).toBe(405);
    expect((await browser.open(link, {}, "HEAD")).status).toBe(405);
    for (const headers of [
      { "sec-fetch-mode": "cors" },
      { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
      { origin: "https://evil.example" },
    ] as Record<string, string>[])
      expect((await browser.open(link, headers)).status).toBe(400);
    expect((await browser.open(link, { "sec-purpose": "prefetch;prerender" })).status).toBe(503);
    expect(browser.cookies.size).toBe(0);
    for (const query of ["redirect", "next", "redirect_uri", "url", "return_to"]) {
      const location = await browser.follow(`${link}?${query}=https://evil.example`);
      expect(location.startsWith(`${issuer.issuer}/`)).toBe(true);
      expect(location).not.toContain("evil");
    }
    for (const path of ["/", "/mcp", "/connect", "/connectx/y", "/connect/a/b", "//evil.example/connect"])
      expect(bench.connect.handle(new Request(`${ORIGIN}${path}`))).toBeUndefined();
  });

  it("says that the login failed, and lets the user begin again", async () => {
    await using bench = await start();
    const browser = new PageBrowser(bench.connect);
    const refused = await refuseLogin(await reachVault(browser, linkOf(bench)));
    expect((await browser.open(refused)).status).toBe(502);
    expect(bench.warnings).toEqual([expect.stringContaining("denied the login")]);
    expect(browser.cookies.size).toBe(0);
    expect((await browser.open(await logIn(await reachVault(browser, linkOf(bench))))).status).toBe(200);
    for (const query of ["", "?state=a&state=b"])
      expect((await browser.open(`${ORIGIN}/connect/callback${query}`)).status).toBe(400);
  });

  it("answers 503 while the store is away, and works afterwards", async () => {
    const store = memoryStore();
    let isAway = false;
    const down = () => Promise.reject(new Error("The store is away"));
    const flaky: Store = {
      ...store,
      get: (key) => (isAway ? down() : store.get(key)),
      put: (key, value, options) => (isAway ? down() : store.put(key, value, options)),
    };
    await using bench = await start(relyingParty(), { store: flaky });
    const link = linkOf(bench);
    const browser = new PageBrowser(bench.connect);
    isAway = true;
    expect((await browser.open(link)).status).toBe(503);
    isAway = false;
    expect(await reachVault(browser, link)).toContain(vault.issuer);
  });
});
