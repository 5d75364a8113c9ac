/** Logins in the console complete at any redirect URL on this machine. */
import { get } from "node:http";
import { createToolport, memoryStore } from "toolport";
import { startConsole } from "toolport/console";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { freePort } from "../../../test/support/program-on-port.js";
import { waitFor } from "../../../test/support/wait-for.js";
import type { LoginView, WaitingView } from "../src/console-api.js";
import { buildPage } from "./build-page.js";

let page: Awaited<ReturnType<typeof buildPage>>;
let oauth: OAuthBench;

beforeAll(async () => {
  [page, oauth] = await Promise.all([buildPage(), startOAuthBench()]);
});

afterAll(async () => {
  await Promise.all([page?.remove(), oauth?.[Symbol.asyncDispose]()]);
});

async function setUp({ port, callbackUrl }: { port?: number; callbackUrl: string }) {
  const store = memoryStore();
  const toolport = createToolport({ mcpServers: { vault: { url: oauth.url } }, store, callbackUrl });
  const running = await startConsole({ toolport, store, port, pageFolder: page.folder });
  const { origin, hash } = new URL(running.url);
  const ask = async <Value>(action: string, body: object = {}): Promise<Value> => {
    const response = await fetch(`${origin}/api/${action}`, {
      method: "POST",
      headers: { authorization: `Bearer ${hash.slice(3)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { value: Value };
    return answer.value;
  };
  const close = async () => {
    await running.close();
    await toolport.close();
  };
  return { toolport, running, ask, [Symbol.asyncDispose]: close };
}

function visit(url: URL, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
  });
}

const state = (toolport: ReturnType<typeof createToolport>) => toolport.snapshot().servers["vault"]?.state;

describe("a login in the console", () => {
  it("completes at its own listener, which is closed afterwards", async () => {
    const callbackUrl = `http://127.0.0.1:${await freePort()}/callback`;
    await using bench = await setUp({ callbackUrl });
    const { authUrl } = await bench.ask<{ authUrl: string }>("authorize", { server: "vault" });
    // A request with a guessed state fails, and the login stays pending.
    expect((await fetch(`${callbackUrl}?state=guessed&code=1`)).status).toBe(400);
    const back = await logIn(authUrl);
    expect(await (await fetch(back)).text()).toContain("You are logged in");
    await waitFor(() => state(bench.toolport) === "ready");
    await waitFor(() =>
      fetch(callbackUrl).then(
        () => false,
        () => true,
      ),
    );
    const [login] = await bench.ask<LoginView[]>("logins");
    expect(login).toMatchObject({ server: "vault", managed: true, authorized: true, issuer: oauth.issuer });
    for (const [secret, name] of oauth.secrets) expect(JSON.stringify(login), name).not.toContain(secret);
    await bench.ask("logOut", { server: "vault" });
    expect(await bench.ask("logins")).toMatchObject([{ authorized: false }]);
  });

  it("completes at the console itself if the port's callback URL points there", async () => {
    const port = await freePort();
    await using bench = await setUp({ port, callbackUrl: `http://127.0.0.1:${port}/oauth/callback` });
    expect(bench.running.callbackUrl).toBe(`http://127.0.0.1:${port}/oauth/callback`);
    const { authUrl } = await bench.ask<{ authUrl: string }>("authorize", { server: "vault" });
    const back = await logIn(authUrl);
    expect(await visit(back, { origin: "https://evil.example" })).toMatchObject({ status: 403, text: "" });
    expect(await visit(back, { host: "evil.example" })).toMatchObject({ status: 403, text: "" });
    expect(await visit(back, { "sec-fetch-mode": "no-cors" })).toMatchObject({ status: 403, text: "" });
    // Like a browser that follows the redirect of the login page.
    const answer = await visit(back, { "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" });
    expect(answer.text).toContain("You are logged in");
    await waitFor(() => state(bench.toolport) === "ready");
    // The code is valid only once.
    expect((await visit(back)).status).toBe(400);
  });

  it("is cancelled when the console closes", async () => {
    const callbackUrl = `http://127.0.0.1:${await freePort()}/callback`;
    await using bench = await setUp({ callbackUrl });
    await bench.ask("authorize", { server: "vault" });
    expect((await fetch(callbackUrl)).status).toBe(400);
    await bench.running.close();
    await expect(fetch(callbackUrl)).rejects.toThrow();
  });

  it("lets a suspended call go on", async () => {
    const callbackUrl = `http://127.0.0.1:${await freePort()}/callback`;
    await using bench = await setUp({ callbackUrl });
    expect(await bench.toolport.callTool("vault__whoami", {}, { suspend: true })).toMatchObject({
      reason: "login",
    });
    const [call] = await bench.ask<WaitingView[]>("waiting");
    expect(call).toMatchObject({ reason: "login", server: "vault", questions: [] });
    expect(call!.authUrl).toContain(oauth.issuer);
    // Too early: the same call waits.
    const early = await bench.ask<{ next: WaitingView }>("resume", { id: call!.id });
    expect(early.next.id).toBe(call!.id);
    const { authUrl } = await bench.ask<{ authUrl: string }>("authorize", { server: "vault" });
    await (await fetch(await logIn(authUrl))).text();
    await waitFor(() => state(bench.toolport) === "ready");
    expect(await bench.ask("resume", { id: call!.id })).toMatchObject({ result: { isError: false } });
    expect(await bench.ask("waiting")).toEqual([]);
    await bench.ask("logOut", { server: "vault" });
  });
});
