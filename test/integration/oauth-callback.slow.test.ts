/** OAuth callbacks: a request that belongs to no login changes nothing, and its content is never shown. */
import { createToolport, type OAuthCallbackOptions, type Toolport } from "toolport";
import { beforeEach, describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { useServer } from "../support/use-server.js";

const bench = useServer(startOAuthBench);
beforeEach(() => {
  bench.tokenRequests.length = 0;
  bench.revokedFamilies.length = 0;
});

/** A port that waits for a login, and the callback URL of the browser. */
async function begin(): Promise<{ toolport: Toolport; back: URL }> {
  const toolport = createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });
  const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
  return { toolport, back: await logIn(authUrl as string) };
}

const whoami = async (toolport: Toolport) => (await toolport.callTool("a__whoami")).text;

function changed(url: URL, change: (copy: URL) => void): Request {
  const copy = new URL(url);
  change(copy);
  return new Request(copy);
}

const HOSTILE = `"><script>alert(document.domain)</script><img src=x onerror=alert(1)>`;

async function expectStaticPage(response: Response, status: number): Promise<string> {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(response.headers.get("cache-control")).toContain("no-store");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  const text = await response.text();
  expect(text).not.toMatch(/<script|<img|onerror|https?:|src=/);
  return text;
}

describe("a request that is not the callback of the login", () => {
  const cases: Readonly<Record<string, (url: URL) => void>> = {
    "a wrong state": (url) => url.searchParams.set("state", "made-up"),
    "no state": (url) => url.searchParams.delete("state"),
    "the state twice": (url) => url.searchParams.append("state", url.searchParams.get("state") as string),
    "the state in other letters": (url) =>
      url.searchParams.set("state", (url.searchParams.get("state") as string).toUpperCase().concat("x")),
    "another path": (url) => {
      url.pathname = "/somewhere/else";
    },
    "nothing at all": (url) => {
      url.search = "";
    },
  };
  test.each(Object.keys(cases))("%s: refused, and the login itself still works", async (name) => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    await expectStaticPage(await toolport.handleOAuthCallback(changed(back, cases[name]!)), 400);
    expect(bench.countTokens()).toBe(0);
    await expectStaticPage(await toolport.handleOAuthCallback(new Request(back)), 200);
    expect(await whoami(toolport)).toBe("ada");
  });

  test("a POST with everything in it", async () => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    const posted = new Request(back, { method: "POST", body: back.searchParams });
    expect((await toolport.handleOAuthCallback(posted)).status).toBeGreaterThanOrEqual(400);
    expect(bench.countTokens()).toBe(0);
  });
});

describe("a callback that ends the login without a token", () => {
  const cases: Readonly<Record<string, (url: URL) => void>> = {
    "another issuer": (url) => url.searchParams.set("iss", "https://evil.example"),
    "the issuer with a slash more": (url) => url.searchParams.set("iss", `${bench.issuer}/`),
    "the issuer in capitals": (url) => url.searchParams.set("iss", bench.issuer.toUpperCase()),
    "no issuer from a server that always sends it": (url) => url.searchParams.delete("iss"),
    "the issuer twice": (url) => url.searchParams.append("iss", bench.issuer),
    "no code": (url) => url.searchParams.delete("code"),
    "the code twice": (url) => url.searchParams.append("code", "another"),
  };
  test.each(Object.keys(cases))("%s: no token request, and a new login works", async (name) => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    const params = new URL(changed(back, cases[name]!).url).searchParams;
    const error = await failure(toolport.finishAuth("a", params));
    const code = name.includes("issuer") ? "ISSUER_MISMATCH" : "AUTH_FAILED";
    expect(error).toMatchObject({ name: "AuthError", code, server: "a" });
    expect(error.message).not.toContain("evil.example");
    expect(bench.countTokens()).toBe(0);
    const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
    await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams);
    expect(await whoami(toolport)).toBe("ada");
  });

  test("an error full of markup: a static page, and our own message for the program", async () => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    const request = changed(back, (url) => {
      url.searchParams.delete("code");
      url.searchParams.set("error", HOSTILE);
      url.searchParams.set("error_description", HOSTILE);
      url.searchParams.set("error_uri", "javascript:alert(1)");
    });
    await expectStaticPage(await toolport.handleOAuthCallback(request), 400);
    expect(warnings.join("\n")).not.toMatch(/script|alert/);
    expect(bench.countTokens()).toBe(0);
    expect((await toolport.connect()).servers["a"]).toMatchObject({ state: "authenticating" });
  });

  test("an error from another issuer gets the same answer", async () => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    const params = new URLSearchParams(back.searchParams);
    params.delete("code");
    params.set("iss", "https://evil.example");
    params.set("error", "access_denied");
    expect(await failure(toolport.finishAuth("a", params))).toMatchObject({ code: "ISSUER_MISMATCH" });
  });
});

test("a used code: the second callback fails, the login stays", async () => {
  const { toolport, back } = await begin();
  await using _ = toolport;
  await expectStaticPage(await toolport.handleOAuthCallback(new Request(back)), 200);
  await expectStaticPage(await toolport.handleOAuthCallback(new Request(back)), 400);
  expect(await failure(toolport.finishAuth("a", back.searchParams))).toMatchObject({ name: "AuthError" });
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.countTokens()).toBe(1);
  expect(bench.revokedFamilies).toEqual([]);
});

test("the same callback at the same moment, ten times: one exchange", async () => {
  const { toolport, back } = await begin();
  await using _ = toolport;
  const responses = await Promise.all(
    Array.from({ length: 10 }, () => toolport.handleOAuthCallback(new Request(back))),
  );
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(bench.countTokens()).toBe(1);
  expect(await whoami(toolport)).toBe("ada");
});

test("two tabs: the first callback logs in, and the second changes nothing", async () => {
  await using toolport = createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });
  const first = (await toolport.connect()).servers["a"]?.authUrl as string;
  const second = (await toolport.connect()).servers["a"]?.authUrl as string;
  const [one, two] = [await logIn(first), await logIn(second)];
  expect((await toolport.handleOAuthCallback(new Request(two))).status).toBe(200);
  await toolport.handleOAuthCallback(new Request(one));
  expect(await whoami(toolport)).toBe("ada");
  expect(bench.revokedFamilies).toEqual([]);
});

test("a callback of another server's login is refused under this name", async () => {
  await using other = await startOAuthBench();
  await using toolport = createToolport({
    mcpServers: { a: { url: bench.url }, b: { url: other.url } },
    callbackUrl: CALLBACK_URL,
  });
  const { servers } = await toolport.connect();
  const back = await logIn(servers["b"]?.authUrl as string);
  expect(await failure(toolport.finishAuth("a", back.searchParams))).toMatchObject({ name: "AuthError" });
  expect(other.countTokens()).toBe(0);
  await toolport.finishAuth("b", back.searchParams);
  expect((await toolport.callTool("b__whoami")).text).toBe("ada");
  expect(bench.countTokens()).toBe(0);
});

describe("configureOAuthCallback", () => {
  test.each([
    ["/done?from=login", "http://127.0.0.1:4545/done?from=login"],
    ["https://app.example.com/done", "https://app.example.com/done"],
  ])("sends the browser to %s, with nothing of the request", async (successRedirect, location) => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    toolport.configureOAuthCallback({ successRedirect, errorRedirect: "/failed" });
    const failed = await toolport.handleOAuthCallback(
      changed(back, (url) => {
        url.searchParams.set("state", HOSTILE);
      }),
    );
    expect([failed.status, failed.headers.get("location")]).toEqual([302, "http://127.0.0.1:4545/failed"]);
    const done = await toolport.handleOAuthCallback(new Request(back));
    expect([done.status, done.headers.get("location")]).toEqual([302, location]);
    for (const response of [failed, done]) {
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(await response.text()).toBe("");
    }
  });

  test("a custom handler writes the page, and gets the outcome but not the parameters", async () => {
    const { toolport, back } = await begin();
    await using _ = toolport;
    const results: Parameters<NonNullable<OAuthCallbackOptions["customHandler"]>>[0][] = [];
    toolport.configureOAuthCallback({
      customHandler: (result) => {
        results.push(result);
        return new Response("mine", { status: 299 });
      },
    });
    const failed = changed(back, (url) => {
      url.searchParams.set("error", HOSTILE);
      url.searchParams.set("state", "made-up");
    });
    expect((await toolport.handleOAuthCallback(failed)).status).toBe(299);
    const response = await toolport.handleOAuthCallback(new Request(back));
    expect([response.status, await response.text()]).toEqual([299, "mine"]);
    expect(results).toMatchObject([
      { authSuccess: false, authError: expect.any(String) },
      { authSuccess: true, server: "a", serverId: "a" },
    ]);
    const code = back.searchParams.get("code") as string;
    expect(JSON.stringify(results)).not.toContain(code);
    expect(JSON.stringify(results)).not.toMatch(/script|made-up/);
  });
});
