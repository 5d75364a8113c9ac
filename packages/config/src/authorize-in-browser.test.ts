/** A login in the browser, which `fetch` simulates. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { type AuthorizeInBrowserOptions, authorizeInBrowser } from "./authorize-in-browser.js";

const LOGIN_PAGE = "https://auth.example.com/authorize?client_id=a&state=s1";

interface Login {
  readonly ended: Promise<URLSearchParams>;
  /** The redirect URL. */
  readonly back: string;
}

/** Starts a login and resolves when its listener is open. */
async function start(options: Partial<AuthorizeInBrowserOptions> = {}): Promise<Login> {
  let ended: Promise<URLSearchParams> | undefined;
  const back = await new Promise<string>((resolve, reject) => {
    let redirectUrl = "";
    ended = authorizeInBrowser({
      authUrl: (url) => {
        redirectUrl = url;
        return LOGIN_PAGE;
      },
      openBrowser: () => resolve(redirectUrl),
      ...options,
    });
    ended.catch(reject);
  });
  return { ended: ended!, back };
}

const isClosed = (url: string) => expect(fetch(url)).rejects.toThrow();

/** Sends a raw request that `fetch` would not send. */
function raw(
  url: string,
  init: { method?: string; headers?: IncomingHttpHeaders; path?: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, init, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject).end();
  });
}

describe("a login in the browser", () => {
  it("resolves with the parameters, shows a page, and stops listening", async () => {
    const { ended, back } = await start();
    expect(new URL(back)).toMatchObject({ hostname: "127.0.0.1", pathname: "/callback" });
    const response = await fetch(`${back}?code=c1&state=s1&iss=x`);
    expect(Object.fromEntries(await ended)).toEqual({ code: "c1", state: "s1", iss: "x" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await response.text()).toContain("You are logged in");
    await isClosed(back);
  });

  it("shows the browser the outcome without repeating its parameters", async () => {
    const finish = async () => {
      throw new Error("no");
    };
    const { ended, back } = await start({ finish });
    const failed = expect(ended).rejects.toThrow("no");
    const response = await fetch(`${back}?code=c1&state=s1&error_description=EVIL`);
    await failed;
    expect(response.status).toBe(400);
    expect(await response.text()).not.toContain("EVIL");
    await isClosed(back);
  });

  it("completes only with its own callback", async () => {
    const { ended, back } = await start();
    const { host, port } = new URL(back);
    expect((await fetch(`${back}?code=x&state=other`)).status).toBe(400);
    expect((await fetch(back)).status).toBe(400);
    expect((await fetch(`${back}/more?code=x&state=s1`)).status).toBe(404);
    expect((await fetch(`${back}?code=x&state=s1`, { method: "POST" })).status).toBe(405);
    expect(
      await raw(back, { path: "/callback?code=x&state=s1", headers: { host: `evil.example.com:${port}` } }),
    ).toBe(403);
    expect(await raw(back, { path: "/%63allback?code=x&state=s1", headers: { host } })).toBe(404);
    await fetch(`${back}?code=right&state=s1`);
    expect((await ended).get("code")).toBe("right");
  });

  it("fails if it is not completed in time", async () => {
    const { ended, back } = await start({ timeoutMs: 50 });
    await expect(ended).rejects.toMatchObject({ code: "AUTH_FAILED" });
    await isClosed(back);
  });

  it("can be aborted", async () => {
    const stop = new AbortController();
    const { ended, back } = await start({ signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
    await isClosed(back);
  });

  it("only reports the URL with openBrowser: false", async () => {
    const seen = await new Promise<string>((resolve) => {
      const stop = new AbortController();
      const onUrl = (url: string) => {
        stop.abort();
        resolve(url);
      };
      authorizeInBrowser({ authUrl: LOGIN_PAGE, openBrowser: false, onUrl, signal: stop.signal }).catch(
        () => {},
      );
    });
    expect(seen).toBe(LOGIN_PAGE);
  });

  it.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "http://auth.example.com/authorize",
    "https://a@auth.example.com/",
    'https://auth.example.com/"$(touch x)"',
  ])("opens nothing for %s", async (authUrl) => {
    let opened = 0;
    const show = () => opened++;
    await expect(authorizeInBrowser({ authUrl, openBrowser: show, onUrl: show })).rejects.toMatchObject({
      code: "AUTH_FAILED",
    });
    expect(opened).toBe(0);
  });

  it("reports a port that is in use, and rejects redirect URLs on other machines", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const taken = authorizeInBrowser({ authUrl: LOGIN_PAGE, redirectUrl: `http://127.0.0.1:${port}/cb` });
    await expect(taken).rejects.toMatchObject({
      code: "AUTH_FAILED",
      message: expect.stringContaining(`${port}`),
    });
    await new Promise((resolve) => other.close(resolve));
    for (const redirectUrl of ["https://127.0.0.1:1/cb", "http://192.168.0.1:1/cb", "http://[::1]:1/cb"])
      await expect(authorizeInBrowser({ authUrl: LOGIN_PAGE, redirectUrl })).rejects.toThrow("127.0.0.1");
  });

  it("does not normalize a given URL", async () => {
    const probe = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => probe.once("listening", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const redirectUrl = `http://LOCALHOST:${port}/cb`;
    const { ended, back } = await start({ redirectUrl });
    expect(back).toBe(redirectUrl);
    await fetch(`http://localhost:${port}/cb?code=a&state=s1`);
    await ended;
  });
});
