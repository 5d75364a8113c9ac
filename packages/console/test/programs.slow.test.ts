/** The programs pane in Chromium: write a program, run it, see value, calls and lines. */
import type { Browser, Page } from "playwright-core";
import { createToolport, type Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";
import { isWithoutChromium, launchChromium } from "./chromium.js";

const MARKUP = `<img src=x onerror="document.title='hacked'">`;

describe.skipIf(isWithoutChromium)("programs in Chromium", () => {
  let built: Awaited<ReturnType<typeof buildPage>>;
  let browser: Browser;
  let page: Page;
  let server: TestServer;
  let toolport: Toolport;
  let running: RunningConsole;
  const errors: string[] = [];

  beforeAll(async () => {
    [built, browser] = await Promise.all([buildPage(), launchChromium()]);
    server = createTestServer({
      tools: {
        markup: { description: "Returns markup", handler: () => MARKUP },
        slow: {
          handler: (_args, { signal }) =>
            new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
        },
      },
    });
    toolport = createToolport({ mcpServers: { shop: server.memory() } });
    await toolport.connect();
    running = await startConsole({ toolport, pageFolder: built.folder });
    page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(running.url);
    await page.getByRole("tab", { name: "Programs" }).click();
  });

  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await toolport?.close();
    await server?.close();
    await built?.remove();
  });

  const write = (source: string) => page.getByLabel("Source of the program").fill(source);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const region = (name: string) => page.getByRole("region", { name, exact: true });

  it("finds declarations", async () => {
    await page.getByLabel("Search declarations").fill("markup");
    await button("Search").click();
    await region("Declarations").getByText("markup(").waitFor();
  });

  it("runs a program and shows value, calls and lines, markup as text", async () => {
    await write("const text = await tools.shop.markup();\nconsole.log(text);\nreturn { text };");
    await button("Run").click();
    await region("Value").waitFor();
    expect(JSON.parse(await region("Value").innerText())).toEqual({ text: MARKUP });
    expect(await region("Logs").innerText()).toBe(MARKUP);
    const calls = page.getByRole("list", { name: "Calls of the program" });
    expect(await calls.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/^shop__markup .*ms ok$/),
    ]);
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.title()).not.toBe("hacked");
  });

  it("shows the line of an error as text", async () => {
    await write(`const a = 1;\nthrow new Error(${JSON.stringify(MARKUP)});`);
    await button("Run").click();
    await region("Error").getByText("line 2").waitFor();
    expect(await region("Error").innerText()).toContain(MARKUP);
    expect(await page.locator("main img").count()).toBe(0);
  });

  it("keeps a running program while another pane is open, and cancels it", async () => {
    await write(`console.log("before");\nawait tools.shop.slow();`);
    await button("Run").click();
    await page.getByRole("listitem").getByText("running").waitFor();
    await page.getByRole("tab", { name: "Servers" }).click();
    await page.getByRole("tab", { name: "Programs" }).click();
    await region("Logs").getByText("before").waitFor();
    await button("Cancel").click();
    await page.getByRole("option").first().getByText("cancelled").waitFor();
    await button("Run").waitFor();
    expect(await page.getByRole("option").count()).toBe(3);
    expect(errors).toEqual([]);
  });
});
