/** The console in a real Chromium, operated with mouse and keyboard. */

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { isWithoutChromium, launchChromium } from "./chromium.js";
import { type ConsoleBench, HOSTILE, startConsoleBench } from "./console-bench.js";

describe.skipIf(isWithoutChromium)("the console in Chromium", () => {
  let bench: ConsoleBench;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const errors: string[] = [];
  const requests: string[] = [];

  beforeAll(async () => {
    [bench, browser] = await Promise.all([startConsoleBench(), launchChromium()]);
    context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(bench.console.url);
  });

  afterAll(async () => {
    await browser?.close();
    await bench?.[Symbol.asyncDispose]();
  });

  const card = (name: string) => page.getByRole("article", { name, exact: true });
  const open = (pane: string) => page.getByRole("tab", { name: pane }).click();
  const state = (name: string, wanted: string) =>
    card(name)
      .and(page.locator(`[data-state="${wanted}"]`))
      .waitFor();

  it("removes the token from the address bar", async () => {
    await page.getByText("live", { exact: true }).waitFor();
    expect(page.url()).not.toContain("t=");
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
  });

  it("connects servers, and asks before it starts a program", async () => {
    await state("notes", "idle");
    await page.getByRole("button", { name: "Connect notes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("notes").first().waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(bench.toolport.snapshot().servers["notes"]?.state).toBe("idle");
    await page.getByRole("button", { name: "Connect all" }).click();
    expect(await dialog.locator("pre").allTextContents()).toEqual([
      expect.stringContaining("node"),
      "reports-mcp-server --quarterly",
    ]);
    await dialog.getByRole("button", { name: "Start" }).click();
    for (const name of ["weather", "weather-eu", "notes", "docs", "relay"]) await state(name, "ready");
    await state("vault", "authenticating");
    await state("reports", "failed");
    await card("reports").getByText("SPAWN_FAILED").waitFor();
  });

  it("shows what the tools of each server take in tokens", async () => {
    const { servers, tokens } = await bench.toolport.cost({
      servers: ["weather", "weather-eu", "notes", "docs", "relay"],
    });
    const own = servers["toolport"]!.tokens;
    await page
      .getByText(`5 of 7 ready · tools take ~${tokens - own} tokens, ~${servers["docs"]!.tokens} deferred`)
      .waitFor();
    await card("weather").getByText(`Tools take ~${servers["weather"]!.tokens} tokens`).waitFor();
    await card("docs").getByText(`Tools take ~${servers["docs"]!.tokens} tokens, deferred`).waitFor();
    const share = Math.round((100 * servers["weather"]!.tokens) / (tokens - own));
    const bar = card("weather").getByRole("img", { name: `${share} % of the tokens of all tools` });
    const [whole, shown] = await Promise.all([bar.boundingBox(), bar.locator("rect").last().boundingBox()]);
    expect(Math.round((100 * shown!.width) / whole!.width)).toBe(share);
    expect((await card("docs").locator(".cost rect").last().boundingBox())?.width).toBe(0);
    expect(await card("reports").locator(".cost").count()).toBe(0);
  });

  it("authorizes in another tab and continues automatically", async () => {
    const [login] = await Promise.all([
      context.waitForEvent("page"),
      page.getByRole("button", { name: "Authorize vault" }).click(),
    ]);
    await login.locator('input[name="login"]').fill("ada");
    await login.locator('input[name="password"]').fill("any");
    await login.locator('button[type="submit"]').click();
    await login.locator('input[name="prompt"][value="consent"]').waitFor({ state: "attached" });
    await login.locator('button[type="submit"]').click();
    await login.getByText("You are logged in").waitFor();
    await login.close();
    await state("vault", "ready");
    await open("Authorization");
    await card("vault").getByText("logged in", { exact: true }).waitFor();
    await card("vault").getByText("tools:read").waitFor();
    await card("vault").getByText(bench.oauth.issuer).waitFor();
    await card("vault")
      .getByText(/in (59 min|1 h)/)
      .waitFor();
  });

  it("tries a tool through its form", async () => {
    await open("Catalog");
    await page.getByLabel("Filter tools").fill("forecast next days");
    await page.getByRole("option", { name: /weather__forecast/ }).click();
    const form = page.getByRole("form", { name: "Try weather__forecast" });
    await form.getByLabel("city").fill("Oslo");
    await form.getByLabel("days").fill("5");
    await form.getByLabel("units").selectOption("imperial");
    await form.getByLabel("details").selectOption("true");
    await form.getByRole("button", { name: "Add to alerts" }).click();
    await form.getByRole("textbox", { name: /^alerts 1/ }).fill("storm");
    await form.getByLabel("latitude").fill("59.9");
    await form.getByLabel("longitude").fill("10.7");
    await form.getByLabel("extra").fill('{"lang": "no"}');
    await form.getByRole("button", { name: "Call tool" }).click();
    await form.getByText("answered").waitFor();
    expect(bench.weather.calls.at(-1)?.args).toEqual({
      city: "Oslo",
      days: 5,
      units: "imperial",
      details: true,
      alerts: ["storm"],
      place: { latitude: 59.9, longitude: 10.7 },
      extra: { lang: "no" },
    });
    await form.getByText('"sky": "clear"').waitFor();
    await form.getByRole("button", { name: "JSON", exact: true }).click();
    await form.getByLabel("Arguments as JSON").fill('{"city": ["Oslo", "Bergen"]}');
    await form.getByRole("button", { name: "Call tool" }).click();
    await form.getByText("INVALID_ARGUMENTS").waitFor();
  });

  it("shows withheld tools with the reason", async () => {
    await page.getByLabel("Filter tools").fill("");
    await page.getByRole("button", { name: "Withheld" }).click();
    await page.getByText("docs / unusable").waitFor();
    await page.getByRole("button", { name: "Offered" }).click();
  });

  it("shows a crash and reconnect of a server without a reload", async () => {
    await open("Servers");
    await bench.stopRelay();
    await state("relay", "reconnecting");
    await card("relay")
      .getByText(/Attempt \d+ (in \d s|now)/)
      .waitFor();
    await bench.startRelay();
    await state("relay", "ready");
    await page
      .getByText(/reconnecting → connecting/)
      .first()
      .waitFor();
  });

  it("shows calls of the program live, with images, attempts and fallback, and replays them", async () => {
    await open("Calls");
    await bench.toolport.callTool("weather__radar");
    await page
      .getByRole("option", { name: /weather__radar/ })
      .first()
      .click();
    const image = page.getByRole("img", { name: /Image, png/ });
    await image.waitFor();
    expect(await page.evaluate("document.querySelector('figure img').naturalWidth")).toBe(360);
    bench.rejectCalls = true;
    await bench.toolport.callTool("weather__forecast", { city: "Bergen" });
    bench.rejectCalls = false;
    await page.getByRole("option", { name: /weather → weather-eu/ }).click();
    await page.getByText("sent to weather, answered by weather-eu").waitFor();
    await page.getByRole("listitem").filter({ hasText: "503" }).waitFor();
    const before = bench.weather.calls.length;
    await page.getByRole("button", { name: "Replay" }).click();
    await waitFor(() => bench.weather.calls.length === before + 1);
    expect(bench.weather.calls.at(-1)?.args).toEqual({ city: "Bergen" });
    await page
      .getByRole("option", { name: /weather__forecast/ })
      .nth(1)
      .waitFor();
  });

  it("reads resources, completes templates, gets prompts", async () => {
    await open("Resources");
    await page.getByRole("option", { name: /Index/ }).click();
    await page.getByRole("button", { name: "Read" }).click();
    await page.getByText("Install, use, repair").waitFor();
    await page.getByRole("option", { name: /Page/ }).click();
    await page.getByRole("combobox", { name: /^page/ }).fill("in");
    await page.locator('datalist option[value="introduction"]').waitFor({ state: "attached" });
    await page.getByRole("combobox", { name: /^page/ }).fill("install");
    await page.getByRole("button", { name: "Read" }).click();
    await page.getByText("The page docs://install").waitFor();
    await page.getByRole("option", { name: /review/ }).click();
    await page.getByRole("combobox", { name: /^page/ }).fill("install");
    await page.getByRole("button", { name: "Get prompt" }).click();
    await page.getByText("Please review install.").waitFor();
  });

  it("shows messages with a filter, and copies one", async () => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open("Messages");
    await page.getByLabel("Server", { exact: true }).selectOption("weather");
    await page.getByLabel("Kind").selectOption("request");
    await page.getByLabel("Filter messages").fill("tools/call");
    const rows = page.getByRole("option", { name: /tools\/call/ });
    await rows.first().click();
    await page.getByRole("region", { name: "Message" }).getByText('"method": "tools/call"').waitFor();
    await page.getByRole("button", { name: "Copy message" }).click();
    await page.getByText("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain('"city": "Bergen"');
    await page.getByLabel("Server", { exact: true }).selectOption("vault");
    await page.getByLabel("Kind").selectOption("auth");
    await page.getByLabel("Filter messages").fill("token request");
    await page.getByRole("option", { name: /authorization_code.*200/ }).click();
    await page.getByText('"code": "[redacted]"').waitFor();
  });

  it("lists saved records without values", async () => {
    await open("State");
    await page.getByRole("cell", { name: /^oauth\/tokens/ }).waitFor();
    const text = await page.locator("main").innerText();
    for (const secret of bench.oauth.secrets.keys()) expect(text).not.toContain(secret);
  });

  it("renders text of servers without markup and with invisible characters escaped", async () => {
    await open("Catalog");
    await page.getByRole("option", { name: /docs__hostile/ }).click();
    await page.getByRole("button", { name: "Call tool" }).click();
    await page.getByText("answered").waitFor();
    const text = await page.locator(".answer pre").innerText();
    expect(text).toContain("<script>");
    expect(text).toContain("\\u{1b}[31m\\u{202e}");
    expect(await page.title()).toBe("Toolport console");
    expect(await page.locator('main img[src="x"], main script').count()).toBe(0);
    expect(HOSTILE).toContain("onerror");
  });

  it("can be used with the keyboard alone", async () => {
    await open("Servers");
    await page.keyboard.press("ArrowRight");
    await waitFor(async () => (await focused()).startsWith("Catalog"));
    // Wait until the pane is drawn: only then the next tab stop is correct.
    await page.getByLabel("Filter tools").waitFor();
    await page.keyboard.press("Tab");
    await waitFor(async () => (await focused()) === "Filter tools");
    await page.keyboard.type("add_note");
    // Wait until the list is redrawn after the last letter: only then the next tab stop is correct.
    await page.getByText("weather__forecast").first().waitFor({ state: "detached" });
    for (let stops = 0; stops < 6 && !(await focused()).startsWith("notes__add_note"); stops++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const form = page.getByRole("form", { name: "Try notes__add_note" });
    await form.waitFor();
    for (let stops = 0; stops < 8 && (await focused()) !== "text"; stops++) await page.keyboard.press("Tab");
    expect(await focused()).toBe("text");
    await page.keyboard.type("buy milk");
    await page.keyboard.press("Enter");
    await form.getByText("Noted: buy milk").waitFor();
  });

  it("skips panes that this console does not have", async () => {
    await open("Resources");
    await page.keyboard.press("ArrowRight");
    await waitFor(async () => (await focused()) === "Authorization");
  });

  /** What a screen reader announces for the focused element. */
  const focused = (): Promise<string> =>
    page.evaluate(`(() => {
      const at = document.activeElement;
      return at.getAttribute("aria-label") ?? at.labels?.[0]?.firstChild?.textContent ?? at.textContent.trim();
    })()`);

  it("fits a narrow screen", async () => {
    await page.setViewportSize({ width: 375, height: 760 });
    for (const pane of [
      "Servers",
      "Catalog",
      "Calls",
      "Messages",
      "Waiting",
      "Resources",
      "Authorization",
      "State",
    ]) {
      await open(pane);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow, pane).toBeLessThanOrEqual(0);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  it("logs out", async () => {
    await open("Authorization");
    await page.getByRole("button", { name: "Log out of vault" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out" }).click();
    await card("vault").getByText("not logged in").waitFor();
    expect(bench.oauth.liveAccessTokens).toBe(0);
  });

  it("causes no errors and no requests to other hosts", () => {
    expect(errors).toEqual([]);
    const home = new URL(bench.console.url).origin;
    const elsewhere = requests.filter((url) => !url.startsWith(`${home}/`) && !url.startsWith("data:"));
    expect(elsewhere).toEqual([]);
    expect(requests.length).toBeGreaterThan(20);
  });
});
