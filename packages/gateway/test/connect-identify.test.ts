/** Connect pages with `identify`, and gateways that have none. */
import { memoryStore } from "toolport";
import { describe, expect, it } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { useServer } from "../../../test/support/use-server.js";
import type { GatewayUserOptions } from "../src/auth/auth-options.js";
import { createAuthenticator } from "../src/auth/authenticator.js";
import { checkConnectOptions, createConnect } from "../src/auth/connect.js";
import { type ConnectBench, PageBrowser, startConnectBench } from "./connect-bench.js";

const ORIGIN = "https://tools.example.com";
const ISSUER = "https://login.example.com";

const vault = useServer(startOAuthBench);

const start = (users: GatewayUserOptions) =>
  startConnectBench({ url: `${ORIGIN}/mcp`, upstream: vault.url, users });

const linkOf = ({ connect }: ConnectBench) => connect.link("ada", "vault") ?? "";

const whoami = async ({ toolport }: ConnectBench) =>
  (await toolport.as("ada").callTool("vault__whoami")).content;

describe("identify", () => {
  const users = (identify: GatewayUserOptions["identify"]): GatewayUserOptions => ({
    auth: { verify: () => undefined },
    ...(identify && { identify }),
  });

  it("names the user of the browser", async () => {
    await using bench = await start(
      users((request) => /user=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1]),
    );
    const link = linkOf(bench);
    const browser = new PageBrowser(bench.connect);
    for (const cookie of ["", "user=bob"]) expect((await browser.open(link, { cookie })).status).toBe(403);
    browser.cookies.set("user", "ada");
    const back = await logIn(await browser.follow(link), "ada-at-vault");
    expect((await browser.open(back)).status).toBe(200);
    expect(await whoami(bench)).toEqual([{ type: "text", text: "ada-at-vault" }]);
    expect((await browser.open(link)).status).toBe(410);
    // The page of the issuer does not exist.
    expect((await browser.open(`${ORIGIN}/connect/login?state=x&code=y`)).status).toBe(400);
  });

  it("may send the browser to its own login page, and may fail", async () => {
    await using bench = await start(users(() => Response.redirect("https://app.example.com/login", 302)));
    expect(await new PageBrowser(bench.connect).follow(linkOf(bench))).toBe("https://app.example.com/login");
    await using broken = await start(users(() => Promise.reject(new Error("database"))));
    const page = await new PageBrowser(broken.connect).open(linkOf(broken));
    expect(page.status).toBe(503);
    expect(await page.text()).not.toContain("database");
  });
});

describe("without a way to recognise users", () => {
  it("there are no links, and the reason names the options", async () => {
    await using bench = await start({ auth: { issuer: ISSUER } });
    expect(bench.connect.link("ada", "vault")).toBeUndefined();
    expect(bench.connect.handle(new Request(`${ORIGIN}/connect/callback?state=a`))).toBeUndefined();
    expect(bench.connect.missing).toMatch(/`auth.connect`, or `identify`/);
  });

  it("a gateway without users names the command of its machine", async () => {
    await using bench = await start({ auth: { token: "t".repeat(43) } });
    expect(bench.connect.link(undefined, "vault")).toBeUndefined();
    expect(bench.connect.missing).toContain("`toolport auth`");
  });

  it("the plain port gets no link", async () => {
    await using bench = await start({ auth: { issuer: ISSUER, connect: { clientId: "gateway" } } });
    expect(bench.connect.missing).toBeUndefined();
    expect(bench.connect.link(undefined, "vault")).toBeUndefined();
  });

  it("the callback of createToolport has to be the connect page", () => {
    const warn = () => {};
    const users: GatewayUserOptions = { auth: { issuer: ISSUER, connect: { clientId: "gateway" } } };
    const authenticator = createAuthenticator({ url: `${ORIGIN}/mcp`, ...users }, { warn });
    const right = `${ORIGIN}/connect/callback`;
    checkConnectOptions(authenticator.settings, right);
    const store = memoryStore();
    for (const callbackUrl of [undefined, `${ORIGIN}/callback`, `${right}/`]) {
      const parts = { authenticator, seal: {} as never, store, logins: {} as never, warn, callbackUrl };
      const message = `Set \`callbackUrl: "${right}"\``;
      expect(() => checkConnectOptions(authenticator.settings, callbackUrl)).toThrow(message);
      expect(() => createConnect(parts)).toThrow(message);
    }
    const { settings } = createAuthenticator({ url: `${ORIGIN}/mcp`, auth: { issuer: ISSUER } }, { warn });
    checkConnectOptions(settings, undefined);
  });
});
