/** Faults of the callback after a login: foreign requests, replays, markup, two tabs, a busy port, and no callback at all. */
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { AuthError, Toolport } from "toolport";
import { authorizeInBrowser } from "toolport/node";
import { beforeAll, expect } from "vitest";
import type { OAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { askForLogin, openBench, openPort, warmUpOAuth, whoami } from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

const MARKUP = `"><script>alert(document.domain)</script><img src=x onerror=alert(1)>`;

interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** The response that a browser would get, with any `Host` header that an attacker could make it send. */
function visit(url: URL, headers: Record<string, string> = {}, method = "GET"): Promise<Page> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    asked.on("error", reject).end();
  });
}

function expectStatic({ headers, text }: Page): void {
  expect(headers["content-security-policy"]).toContain("default-src 'none'");
  expect(headers["cache-control"]).toContain("no-store");
  expect(text).not.toMatch(/<script|<img|onerror|https?:|src=|alert/);
}

interface OpenLogin {
  readonly toolport: Toolport;
  /** The callback URL; the listener is open. */
  readonly back: URL;
  /** The whole login. */
  readonly ended: Promise<unknown>;
}

/** A login at a terminal, up to the callback of the browser. */
async function beginLogin(harness: FaultHarness, bench: OAuthBench): Promise<OpenLogin> {
  let toolport: Toolport | undefined;
  let show: (url: string) => void = () => {};
  const shown = new Promise<string>((resolve) => {
    show = resolve;
  });
  const ended = authorizeInBrowser({
    authUrl: async (redirectUrl) => {
      toolport = openPort(harness, bench, { callbackUrl: redirectUrl });
      return askForLogin(toolport);
    },
    openBrowser: false,
    onUrl: show,
    finish: async (params) => void (await (toolport as Toolport).finishAuth("it", params)),
  });
  const page = await Promise.race([shown, ended.then(() => "")]);
  const back = await logIn(page);
  return { toolport: toolport as Toolport, back, ended: ended.catch((error: unknown) => error) };
}

const isListening = (url: URL): Promise<boolean> =>
  visit(url).then(
    () => true,
    () => false,
  );

faultCase("A13", "wrong path, host, method and state: the login keeps waiting", async (harness) => {
  const bench = await openBench(harness);
  const { toolport, back, ended } = await beginLogin(harness, bench);
  const changed = (change: (url: URL) => void) => {
    const url = new URL(back);
    change(url);
    return url;
  };
  const forgedRequests: [number, Promise<Page>][] = [
    [404, visit(changed((url) => (url.pathname = "/other")))],
    [404, visit(changed((url) => (url.pathname = "/")))],
    [403, visit(back, { host: "evil.example" })],
    [403, visit(back, { host: `localhost.evil.example:${back.port}` })],
    [405, visit(back, {}, "POST")],
    [400, visit(changed((url) => url.searchParams.set("state", MARKUP)))],
    [400, visit(changed((url) => (url.search = "")))],
  ];
  for (const [status, page] of forgedRequests) {
    expect((await page).status).toBe(status);
    expectStatic(await page);
  }
  expect(bench.countTokens()).toBe(0);
  const page = await visit(back);
  expect(page.status).toBe(200);
  expectStatic(page);
  expect(await ended).toBeInstanceOf(URLSearchParams);
  expect(await whoami(toolport)).toBe("ada");
  expect(await isListening(back)).toBe(false);
});

faultCase("A13", "error full of markup", async (harness) => {
  const bench = await openBench(harness);
  const { back, ended } = await beginLogin(harness, bench);
  for (const name of ["error", "error_description", "error_uri"]) back.searchParams.set(name, MARKUP);
  back.searchParams.delete("code");
  const page = await visit(back);
  expect(page.status).toBe(400);
  expectStatic(page);
  const error = (await ended) as AuthError;
  harness.note(error);
  expect(error).toMatchObject({ name: "AuthError", code: "AUTH_FAILED", server: "it" });
  expect(`${error.message} ${error.stack}`).not.toMatch(/script|alert/);
  expect(bench.countTokens()).toBe(0);
  expect(await isListening(back)).toBe(false);
});

faultCase("A13", "replayed code", async (harness) => {
  const bench = await openBench(harness);
  const toolport = openPort(harness, bench);
  const back = await logIn(await askForLogin(toolport));
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => toolport.handleOAuthCallback(new Request(back))),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
  expect((await toolport.handleOAuthCallback(new Request(back))).status).toBe(400);
  await harness.fails(toolport.finishAuth("it", back.searchParams), {
    code: "AUTH_FAILED",
    withinMs: 1_000,
  });
  expect(bench.countTokens()).toBe(1);
  expect(bench.revokedFamilies).toEqual([]);
  expect(await whoami(toolport)).toBe("ada");
});

faultCase("A13", "two tabs", async (harness) => {
  const bench = await openBench(harness);
  const toolport = openPort(harness, bench);
  const pages = [await askForLogin(toolport), await askForLogin(toolport)];
  const [first, second] = await Promise.all(pages.map((page) => logIn(page)));
  expect((await toolport.handleOAuthCallback(new Request(second as URL))).status).toBe(200);
  await toolport.handleOAuthCallback(new Request(first as URL));
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.revokedFamilies).toEqual([]);
});

faultCase("A13", "port busy", async (harness) => {
  harness.open({});
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  harness.atEnd(() => new Promise((resolve) => other.close(resolve)));
  const { port } = other.address() as AddressInfo;
  const shown: string[] = [];
  const error = await harness.fails(
    authorizeInBrowser({
      authUrl: "https://auth.example.com/authorize",
      redirectUrl: `http://127.0.0.1:${port}/callback`,
      openBrowser: false,
      onUrl: (url) => shown.push(url),
    }),
    { code: "AUTH_FAILED", withinMs: 1_000 },
  );
  expect(error.message).toContain(String(port));
  expect(shown).toEqual([]);
});

faultCase("A13", "user never returns", async (harness) => {
  harness.open({});
  // The default is five minutes, as in the catalogue.
  const timeoutMs = bound(500, 300_000);
  let home: URL | undefined;
  const waiting = authorizeInBrowser({
    authUrl: (redirectUrl) => {
      home = new URL(redirectUrl);
      return "https://auth.example.com/authorize?state=x";
    },
    openBrowser: false,
    timeoutMs,
  });
  const failing = harness.fails(waiting, { code: "AUTH_FAILED", withinMs: timeoutMs + atMost(1_000) });
  await waitFor(() => home);
  expect(await isListening(home as URL)).toBe(true);
  await failing;
  expect(await isListening(home as URL)).toBe(false);
});
