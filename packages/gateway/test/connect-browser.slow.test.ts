/** The connect page in a real Chromium: user B opens A's link, in a fresh browser and in A's. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasOpenssl, makeCertificates } from "../../../test/support/certificates.js";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { startTlsFront, type TlsFront } from "../../../test/support/tls-front.js";
import { isWithoutChromium, launchChromium } from "../../console/test/chromium.js";
import { listenOnLoopback, toWebRequest } from "../../testing/src/serve-connection.js";
import { type ConnectBench, startConnectBench } from "./connect-bench.js";

/** Not this machine by its name, as in production. */
const HOST = "gateway.test";

describe.skipIf(isWithoutChromium || !hasOpenssl())("the connect page in Chromium", () => {
  let folder: string;
  let front: TlsFront;
  let issuer: OAuthBench;
  let vault: OAuthBench;
  let bench: ConnectBench;
  let browser: Browser;
  let closeServer: () => Promise<void>;
  let origin: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolport-connect-"));
    const server = createServer(async (request, response) => {
      const answer = await bench.connect.handle(await toWebRequest(request, response));
      if (answer === undefined) return void response.writeHead(404).end();
      const cookies = answer.headers.getSetCookie();
      const fields = [...answer.headers].filter(([name]) => name !== "set-cookie");
      response.writeHead(answer.status, { ...Object.fromEntries(fields), "set-cookie": cookies });
      response.end(await answer.text());
    });
    const listening = await listenOnLoopback(server);
    closeServer = () => listening.close();
    front = await startTlsFront(
      makeCertificates(folder).good,
      Number(new URL(`http://${listening.address}`).port),
    );
    origin = `https://${HOST}:${front.port}`;
    const client = {
      client_id: "gateway",
      client_secret: "secret",
      redirect_uris: [`${origin}/connect/login`],
    };
    [issuer, vault, browser] = await Promise.all([
      // Another name than that of the server's login: browsers share cookies between the ports of a host.
      startOAuthBench({ clients: [client], host: "localhost" }),
      startOAuthBench(),
      launchChromium([`--host-resolver-rules=MAP ${HOST} 127.0.0.1`]),
    ]);
    const connect = { clientId: "gateway", clientSecret: "secret" };
    bench = await startConnectBench({
      url: `${origin}/mcp`,
      upstream: vault.url,
      users: { auth: { issuer: issuer.issuer, connect } },
    });
  });

  afterAll(async () => {
    await browser?.close();
    await bench?.[Symbol.asyncDispose]();
    await Promise.all([issuer?.[Symbol.asyncDispose](), vault?.[Symbol.asyncDispose](), front?.close()]);
    await closeServer?.();
    await rm(folder, { recursive: true });
  });

  const principalOf = (user: string) => JSON.stringify([issuer.issuer, user]);
  const linkOf = (user: string) => bench.connect.link(principalOf(user), "vault") ?? "";

  async function newPage(context?: BrowserContext): Promise<Page> {
    const used = context ?? (await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await used.newPage();
    return page;
  }

  /** Fills in the form of a login page, and agrees. */
  async function logIn(page: Page, user: string): Promise<void> {
    await page.locator('input[name="login"]').fill(user);
    await page.locator('input[name="password"]').fill("any");
    await page.locator('button[type="submit"]').click();
    await agree(page);
  }

  async function agree(page: Page): Promise<void> {
    await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: "attached" });
    await page.locator('button[type="submit"]').click();
  }

  const atVault = (page: Page) => page.waitForURL((url) => url.origin === vault.issuer);

  it("connects the user's own account, with cookies that scripts and other hosts cannot use", async () => {
    const page = await newPage();
    await page.goto(linkOf("ada"));
    await logIn(page, "ada");
    await atVault(page);
    const cookies = await page.context().cookies(origin);
    expect(cookies).toEqual([
      expect.objectContaining({
        name: expect.stringMatching(/^__Host-toolport-upstream-/),
        secure: true,
        httpOnly: true,
        sameSite: "Lax",
        path: "/",
        domain: HOST,
      }),
    ]);
    await logIn(page, "ada-at-vault");
    await page.getByText("You are logged in").waitFor();
    expect(await page.context().cookies(origin)).toEqual([]);
    const { content } = await bench.toolport.as(principalOf("ada")).callTool("vault__whoami");
    expect(content).toEqual([{ type: "text", text: "ada-at-vault" }]);
    await page.context().close();
  });

  it("refuses user B with A's link in a fresh browser", async () => {
    const before = await bench.store.list("");
    const link = linkOf("cleo");
    const page = await newPage();
    await page.goto(link);
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().startsWith(`${origin}/connect/login`)),
      logIn(page, "bob"),
    ]);
    expect(answer.status()).toBe(403);
    await page.getByText("This link belongs to another user").waitFor();
    expect(await page.context().cookies(origin)).toEqual([]);
    expect(await bench.store.list("")).toEqual(before);
    await page.context().close();
  });

  it("refuses B in A's browser: with A's link, and with a login that B started", async () => {
    // Dora is logged in at the issuer, and one of her own logins is in progress.
    const dora = await newPage();
    await dora.goto(linkOf("dora"));
    await logIn(dora, "dora");
    await atVault(dora);
    const bob = await newPage();
    await bob.goto(linkOf("bob"));
    await logIn(bob, "bob");
    await atVault(bob);
    const bobsLogin = vault.requestLines.findLast((line) => line.startsWith("GET /auth?")) ?? "";
    const second = await newPage(dora.context());
    await second.goto(`${vault.issuer}${bobsLogin.slice("GET ".length)}`);
    await logIn(second, "dora-at-vault");
    await second.getByText("This login was not started in this browser").waitFor();
    const status = await bench.toolport.as(principalOf("bob")).authStatus("vault");
    expect(status?.authorized).toBe(false);
    // Bob opens Dora's link in her browser, and logs in at the issuer himself.
    await dora.context().clearCookies({ domain: "localhost" });
    await second.goto(linkOf("dora"));
    await logIn(second, "bob");
    await second.getByText("This link belongs to another user").waitFor();
    // Both can still finish their own logins, in their own browsers.
    await logIn(bob, "bob-at-vault");
    await bob.getByText("You are logged in").waitFor();
    await logIn(dora, "dora-at-vault");
    await dora.getByText("You are logged in").waitFor();
    for (const user of ["bob", "dora"]) {
      const { content } = await bench.toolport.as(principalOf(user)).callTool("vault__whoami");
      expect(content).toEqual([{ type: "text", text: `${user}-at-vault` }]);
    }
    await Promise.all([dora.context().close(), bob.context().close()]);
  });

  it("takes the user of the browser's session at the issuer: A's own link goes on, B's is refused", async () => {
    const page = await newPage();
    await page.goto(linkOf("emil"));
    await logIn(page, "emil");
    await atVault(page);
    // Emil's session at the issuer is known to this browser: the issuer asks for nothing.
    await page.goto(linkOf("emil"));
    await atVault(page);
    await page.goto(linkOf("bob"));
    await page.getByText("This link belongs to another user").waitFor();
    await page.context().close();
  });

  it("is not shown in a frame of another site", async () => {
    const page = await newPage();
    await page.goto(`${vault.issuer}/.well-known/openid-configuration`);
    const link = linkOf("ada");
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url() === link),
      page.evaluate(
        `const frame = document.createElement("iframe"); frame.src = ${JSON.stringify(link)}; document.body.append(frame);`,
      ),
    ]);
    expect(answer.status()).toBe(400);
    // It was not used.
    await page.goto(link);
    await page.locator('input[name="login"]').waitFor();
    await page.context().close();
  });
});
