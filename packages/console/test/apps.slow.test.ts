/** Apps of servers in Chromium: one that behaves, and one that attacks the page, the console and other servers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, FrameLocator, Page } from "playwright-core";
import { createToolport, type Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { escaping, hostile, MAP, page } from "./app-documents.js";
import { buildPage } from "./build-page.js";
import { isWithoutChromium, launchChromium } from "./chromium.js";

describe.skipIf(isWithoutChromium)("apps in Chromium", () => {
  let built: Awaited<ReturnType<typeof buildPage>>;
  let browser: Browser;
  let tab: Page;
  let shop: TestServer;
  let other: TestServer;
  let toolport: Toolport;
  let running: RunningConsole;
  const errors: string[] = [];
  /** Paths that were requested from the origin that no app declares. */
  const reached: string[] = [];
  const zooms: unknown[] = [];
  let wasCancelled = false;
  const undeclared = createServer((request, response) => {
    reached.push(request.url ?? "");
    response.writeHead(200, { "access-control-allow-origin": "*" }).end("reached");
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => undeclared.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(undeclared.address() as AddressInfo).port}`;
    [built, browser] = await Promise.all([buildPage(), launchChromium()]);
    const app = (name: string) => ({ ui: { resourceUri: `ui://shop/${name}` } });
    const html = (text: string) => ({ mimeType: "text/html;profile=mcp-app", text });
    shop = createTestServer({
      name: "shop",
      tools: {
        map: { title: "Map", _meta: app("map"), handler: () => ({ structuredContent: { pins: 3 } }) },
        attack: { _meta: app("attack"), handler: () => "attacked" },
        refresh: { _meta: app("refresh"), handler: () => "refreshed" },
        escape: { _meta: app("escape"), handler: () => "escaped" },
        foreign: { _meta: { ui: { resourceUri: "ui://other/page" } }, handler: () => "foreign" },
        zoom: {
          _meta: { ui: { visibility: ["app"] } },
          handler: ({ by }) => {
            zooms.push(by);
            return `zoomed by ${String(by)}`;
          },
        },
        buy: { handler: () => "bought" },
        wait: {
          _meta: app("wait"),
          handler: ({ long }, { signal }) =>
            long !== true
              ? "short"
              : new Promise((resolve) => {
                  signal.addEventListener("abort", () => {
                    wasCancelled = true;
                    resolve("cancelled");
                  });
                }),
        },
        admin: { _meta: { ui: { visibility: ["model"] } }, handler: () => "admin" },
      },
      resources: {
        "ui://shop/map": html(MAP),
        "ui://shop/wait": html(
          page(`await begin(); void request("tools/call", { name: "wait", arguments: { long: true } });`),
        ),
        "ui://shop/refresh": html(
          `<!doctype html><meta http-equiv="refresh" content="0; url=${origin}/refresh"><p>Here`,
        ),
        "ui://shop/escape": html(escaping(origin)),
        "ui://shop/attack": {
          read: () => ({
            contents: [
              {
                uri: "ui://shop/attack",
                ...html(hostile(origin)),
                _meta: {
                  ui: { csp: { connectDomains: [origin, "*"], resourceDomains: ["https://a.example; *"] } },
                },
              },
            ],
          }),
        },
      },
    });
    other = createTestServer({
      name: "other",
      tools: { wipe: { handler: () => "wiped" } },
      resources: { "ui://other/page": html("<p>of the other server</p>") },
    });
    toolport = createToolport({
      mcpServers: { shop: shop.memory(), other: other.memory() },
      approve: { when: "always", ask: ({ tool }) => tool.sourceName !== "buy" },
    });
    await toolport.connect();
    running = await startConsole({ toolport, pageFolder: built.folder });
    tab = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    tab.on("pageerror", (error) => errors.push(String(error)));
    await tab.goto(running.url);
  });

  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await toolport?.close();
    await Promise.all([shop, other].map((server) => server?.[Symbol.asyncDispose]()));
    await built?.remove();
    await new Promise((resolve) => undeclared.close(resolve));
  });

  const call = async (tool: string): Promise<FrameLocator> => {
    await tab.getByRole("tab", { name: "Catalog" }).click();
    await tab.getByRole("option", { name: new RegExp(`shop__${tool}`) }).click();
    await tab
      .getByRole("form", { name: `Try shop__${tool}` })
      .getByRole("button", { name: "Call tool" })
      .click();
    return tab.frameLocator("iframe");
  };
  const shown = async (frame: FrameLocator, id: string): Promise<unknown> =>
    JSON.parse((await frame.locator(`#${id}`).textContent()) ?? "null");

  it("gives an app its input and result, and lets it call tools of its server, with approval", async () => {
    const frame = await call("map");
    expect(await shown(frame, "welcome")).toEqual(["toolport-console", "light", "map"]);
    expect(await shown(frame, "tool-input")).toEqual({ arguments: {} });
    expect(await shown(frame, "tool-result")).toMatchObject({ structuredContent: { pins: 3 } });
    expect(await shown(frame, "zoomed")).toMatchObject({ content: [{ type: "text", text: "zoomed by 2" }] });
    expect(await shown(frame, "bought")).toMatch(/not approved|refused|declined|approve/i);
    expect(shop.calls.map(({ name }) => name)).toEqual(["map", "zoom"]);
    expect(await shown(frame, "said")).toEqual({ isError: true });
    expect(await shown(frame, "context")).toBe("-32601");
    await tab.locator('iframe[height="222"]').waitFor();
  });

  it("opens a link only after a question that shows its address", async () => {
    const frame = tab.frameLocator("iframe");
    expect(await shown(frame, "script")).toEqual({ isError: true });
    await frame.getByRole("button", { name: "Terms" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByText("https://shop.example.com/terms?a=1").waitFor();
    expect(browser.contexts().flatMap((context) => context.pages())).toHaveLength(1);
    const [opened] = await Promise.all([
      tab.context().waitForEvent("page"),
      dialog.getByRole("button", { name: "Open" }).click(),
    ]);
    expect(await shown(frame, "opened")).toEqual({});
    expect(await opened.evaluate("opener")).toBeNull();
    await opened.close();
  });

  it("takes no messages from the page itself", async () => {
    const before = zooms.length;
    await tab.evaluate(
      `postMessage({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "zoom", arguments: { by: 667 } } }, "*")`,
    );
    await tab.getByRole("button", { name: "App", exact: true }).click();
    await tab.locator("iframe").waitFor({ state: "detached" });
    expect(zooms).toHaveLength(before);
  });

  it("keeps an app from the page, the console, other servers and other origins", async () => {
    const frame = await call("attack");
    await frame.locator("#end").waitFor();
    await frame.locator("#inner").waitFor();
    const { hash, origin } = new URL(running.url);
    const [address, referrer] = (await shown(frame, "address")) as string[];
    expect(address).toMatch(new RegExp(`^${origin}/apps/[\\w-]{43}$`));
    expect(address).not.toContain(hash.slice(3));
    expect(referrer).toBe("");
    const ids = ["dom", "page-storage", "local", "session", "cookie", "database", "top"];
    for (const id of ids) expect([id, await shown(frame, id)]).toEqual([id, "SecurityError 18"]);
    const blocked = ["api", "api-blind", "again", "page-script", "fetch", "image", "script", "socket"];
    for (const id of blocked) expect([id, await shown(frame, id)]).toEqual([id, "TypeError "]);
    expect(await shown(frame, "popup")).toBe("result null");
    expect(await shown(frame, "modal")).toBe("result false");
    expect(await shown(frame, "evaluate")).toMatch(/^EvalError/);
    for (const id of ["other-server", "other-public", "model-only", "prototype", "resources"])
      expect([id, await shown(frame, id)]).toEqual([id, expect.stringMatching(/^Error -32\d{3}$/)]);
    expect(other.calls).toHaveLength(0);
    expect(shop.calls.map(({ name }) => name)).not.toContain("admin");
    await tab.getByText("Not allowed, because they are not public https origins").waitFor();
    expect((await fetch(address as string)).status).toBe(404);
    expect(reached).toEqual([]);
  });

  it("stays usable when an app sends 10,000 messages, and stops the app", async () => {
    const before = zooms.length;
    await tab.frameLocator("iframe").getByRole("button", { name: "Flood" }).click();
    await tab.getByText("The app was stopped: it sent too many messages").waitFor();
    expect(await tab.locator("iframe").count()).toBe(0);
    await tab.getByRole("tab", { name: "Calls" }).click();
    await tab.getByRole("option", { name: /shop__attack/ }).waitFor();
    expect(zooms.length - before).toBeLessThan(200);
  });

  it("keeps an app from leaving its document", async () => {
    const port = (undeclared.address() as AddressInfo).port;
    const frame = await call("map");
    await frame.locator("#zoomed").waitFor();
    const inside = tab.frames().find((candidate) => candidate.url().includes("/apps/"));
    const blocked = tab.waitForEvent("console", (message) => /frame-src/.test(message.text()));
    await inside?.evaluate(`void (location.href = "http://127.0.0.1:${port}/left")`).catch(() => {});
    await blocked;
    expect(reached).toEqual([]);
  });

  it("keeps an app from leaving its document by markup", async () => {
    const blocked = tab.waitForEvent("console", (message) => /frame-src/.test(message.text()));
    await call("refresh");
    await blocked;
    expect(reached).toEqual([]);
  });

  it("keeps markup, workers and links of an app in its document", async () => {
    const pages = () => browser.contexts().flatMap((context) => context.pages());
    const frame = await call("escape");
    await frame.locator("#end").waitFor();
    expect(await shown(frame, "early")).toBe("Error -32600");
    expect(await shown(frame, "early-input")).toBe(false);
    expect(zooms).not.toContain(668);
    for (const id of ["service-worker", "caches", "parent-hash", "parent-replace", "parent-name"])
      expect([id, await shown(frame, id)]).toEqual([id, "SecurityError 18"]);
    for (const id of ["worker", "shared-worker", "import", "stream"])
      expect([id, await shown(frame, id)]).toEqual([
        id,
        expect.stringMatching(/^(?:TypeError|SecurityError) /),
      ]);
    expect(await shown(frame, "clipboard")).toMatch(/^NotAllowedError/);
    for (const id of ["huge-link", "data-link", "file-link", "console-link"])
      expect([id, await shown(frame, id)]).toEqual([id, 'result {"isError":true}']);
    for (const id of ["cyclic", "bigint"]) expect(await shown(frame, id)).toMatch(/^Error -32/);
    expect(await tab.getByRole("dialog").count()).toBe(0);
    // Clicks of a user do not help it.
    for (const name of ["Form", "Top", "New", "Script", "File"])
      await frame.getByText(name, { exact: true }).click({ noWaitAfter: true });
    await tab.getByRole("tab", { name: "Calls" }).click();
    await tab.getByRole("option", { name: /shop__escape/ }).waitFor();
    expect(new URL(tab.url()).origin).toBe(new URL(running.url).origin);
    expect(pages()).toHaveLength(1);
    expect(reached).toEqual([]);
  });

  it("reads the document of an app from the server of its tool only", async () => {
    await call("foreign");
    await tab.getByText(/The app cannot be shown/).waitFor();
    expect(await tab.locator("iframe").count()).toBe(0);
  });

  it("opens no app of an older call by itself", async () => {
    await tab.getByRole("tab", { name: "Calls" }).click();
    await tab
      .getByRole("option", { name: /shop__map/ })
      .first()
      .click();
    await tab.getByRole("button", { name: "Raw JSON" }).waitFor();
    expect(await tab.locator("iframe").count()).toBe(0);
    await tab.getByRole("button", { name: "App", exact: true }).click();
    expect(await shown(tab.frameLocator("iframe"), "tool-result")).toMatchObject({
      structuredContent: { pins: 3 },
    });
  });

  it("cancels the calls of an app that is closed", async () => {
    await call("wait");
    await waitFor(() => shop.calls.some(({ args }) => args["long"] === true));
    await tab.getByRole("button", { name: "App", exact: true }).click();
    await waitFor(() => wasCancelled);
  });

  it("causes no errors in the page", async () => {
    await tab.locator("iframe").waitFor({ state: "detached" });
    expect(errors).toEqual([]);
    // Neither the page itself nor a frame within a frame is the app.
    expect(zooms).not.toContain(666);
    expect(zooms).not.toContain(667);
  });
});
