/** Questions of the real everything server, running calls and roots, in Chromium. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { createConsoleAnswers } from "../src/server-questions.js";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";
import { isWithoutChromium, launchChromium } from "./chromium.js";

const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

describe.skipIf(isWithoutChromium)("answers in Chromium", () => {
  let built: Awaited<ReturnType<typeof buildPage>>;
  let browser: Browser;
  let page: Page;
  let toolport: Toolport;
  let running: RunningConsole;
  const errors: string[] = [];

  beforeAll(async () => {
    [built, browser] = await Promise.all([buildPage(), launchChromium()]);
    const answers = createConsoleAnswers();
    toolport = createToolport({
      mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } },
      ...answers.options,
    });
    await toolport.connect();
    running = await startConsole({ toolport, answers, pageFolder: built.folder });
    page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(running.url);
  });

  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await toolport?.close();
    await built?.remove();
  });

  const choose = async (tool: string) => {
    await page.getByRole("tab", { name: "Catalog" }).click();
    await page.getByLabel("Filter tools").fill(tool);
    await page.getByRole("option", { name: new RegExp(`everything__${tool}\\b(?!-)`) }).click();
    return page.getByRole("form", { name: `Try everything__${tool}` });
  };
  const question = () => page.getByRole("article", { name: "Question of everything" });

  it("answers a form, with errors at the fields", async () => {
    const form = await choose("trigger-elicitation-request");
    await form.getByRole("button", { name: "Call tool" }).click();
    await question().getByRole("button", { name: "Send answer" }).click();
    const name = question()
      .getByRole("textbox", { name: /^(?:String|name)/i })
      .first();
    await question().getByText("is required").waitFor();
    expect(await question().getByText("is required").count()).toBe(1);
    await name.fill("Ada");
    await question().getByRole("button", { name: "Send answer" }).click();
    await form.getByText("Ada").first().waitFor();
    expect(await question().count()).toBe(0);
  });

  it("answers a request for a completion", async () => {
    const form = await choose("trigger-sampling-request");
    await form.getByLabel("prompt").fill("Which tide is it?");
    await form.getByRole("button", { name: "Call tool" }).click();
    await question().getByText("Which tide is it?").waitFor();
    await question().getByLabel("Answer of the model").fill("High tide");
    await question().getByRole("button", { name: "Send answer" }).click();
    await form.getByText("High tide").first().waitFor();
  });

  it("answers a form and a completion that the server requests as tasks", async () => {
    const form = await choose("trigger-elicitation-request-async");
    await form.getByRole("button", { name: "Call tool" }).click();
    await question().getByLabel(/Name/).fill("Ada");
    await question().getByRole("button", { name: "Send answer" }).click();
    await form.getByText("[COMPLETED] User provided the requested information!").first().waitFor();
    await form.getByText("- Name: Ada").first().waitFor();
    const sampling = await choose("trigger-sampling-request-async");
    await sampling.getByLabel("prompt").fill("Which tide is it?");
    await sampling.getByRole("button", { name: "Call tool" }).click();
    await question().getByLabel("Answer of the model").fill("Low tide");
    await question().getByRole("button", { name: "Send answer" }).click();
    await sampling.getByText("Low tide").first().waitFor();
  });

  it("shows the progress of a call that the host makes, and cancels it", async () => {
    const args = { duration: 60, steps: 300 };
    const called = toolport.callTool("everything__trigger-long-running-operation", args);
    const failed = expect(called).rejects.toMatchObject({ code: "REFUSED" });
    await page.getByRole("tab", { name: "Calls" }).click();
    await page
      .getByRole("option", { name: /long-running-operation.*running/s })
      .first()
      .click();
    await page.getByText(/Running: \d+ of 300/).waitFor();
    expect(await page.getByRole("progressbar").getAttribute("max")).toBe("300");
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await failed;
    await page.getByText("The user cancelled the call in the console").first().waitFor();
    expect(await page.getByRole("progressbar").count()).toBe(0);
  });

  it("shows the progress of a program's call, and cancels it", async () => {
    await page.getByRole("tab", { name: "Programs" }).click();
    const source = "return await tools.everything.triggerLongRunningOperation({ duration: 60, steps: 400 });";
    await page.getByLabel("Source of the program").fill(source);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText(/long-running-operation: \d+ of 400/).waitFor();
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByLabel("Error").getByText("The user cancelled the call").waitFor();
  });

  it("shows the progress of a call, also in another pane, and cancels it", async () => {
    const form = await choose("trigger-long-running-operation");
    await form.getByLabel("duration").fill("60");
    await form.getByLabel("steps").fill("200");
    await form.getByRole("button", { name: "Call tool" }).click();
    await form.getByText(/Running: \d+ of 200/).waitFor();
    await page.getByRole("tab", { name: "Calls" }).click();
    await page
      .getByRole("option", { name: /long-running-operation/ })
      .first()
      .click();
    await page.getByText(/Running: \d+ of 200/).waitFor();
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByText("error", { exact: true }).first().waitFor();
    const sent = page.getByRole("option", { name: /notifications\/cancelled/ });
    await page.getByRole("tab", { name: "Messages" }).click();
    await sent.first().waitFor();
  });

  it("keeps the result of a task on the page after the server has forgotten the task", async () => {
    const name = "everything__simulate-research-query";
    await toolport.callTool(name, { topic: "tides" }, { task: true });
    await page.getByRole("tab", { name: "Waiting" }).click();
    const task = page.getByRole("article", { name: `Task ${name}` });
    await task.getByRole("button", { name: "Wait for the result" }).click();
    await task.getByRole("progressbar").waitFor();
    await task.getByText("Research Report: tides").first().waitFor();
    await page.waitForResponse(
      async (response) =>
        response.url().endsWith("/api/tasks") &&
        ((await response.json()) as { value: [] }).value.length === 0,
    );
    expect(await task.getByText("completed", { exact: true }).count()).toBe(1);
    expect(await task.getByRole("progressbar").count()).toBe(0);
    await task.getByRole("button", { name: "Dismiss" }).click();
    expect(await task.count()).toBe(0);
  });

  it("marks wrong arguments at their fields, once", async () => {
    const form = await choose("get-sum");
    await form.getByLabel(/^a/).fill("1");
    await form.getByRole("button", { name: "Call tool" }).click();
    await form.getByText("correct the marked fields").waitFor();
    expect(await form.getByText("is required").count()).toBe(1);
    expect(await form.getByLabel(/^b/).getAttribute("aria-invalid")).toBe("true");
  });

  it("edits the roots", async () => {
    await page.getByRole("tab", { name: "Roots" }).click();
    await page.getByLabel("Path or file:// URL").fill("relative/path");
    await page.getByRole("button", { name: "Add root" }).click();
    await page.getByText("A root is a file:// URL").waitFor();
    await page.getByLabel("Path or file:// URL").fill("/srv/project");
    await page.getByRole("button", { name: "Add root" }).click();
    await page.getByText("file:///srv/project").waitFor();
    await waitFor(async () =>
      (await toolport.callTool("everything__get-roots-list")).text.includes("srv/project"),
    );
  });

  it("lists fifty servers as rows, problems first, with a filter", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `server-${index}`);
    const server = createTestServer({ tools: { hello: { handler: () => "hi" } } });
    await using many = createToolport({
      mcpServers: {
        ...Object.fromEntries(names.slice(2).map((name) => [name, server.memory()])),
        "server-0": { url: "http://127.0.0.1:9/mcp", enabled: false },
        "server-1": { url: "http://127.0.0.1:9/mcp" },
      },
      retry: false,
    });
    await many.connect();
    await using other = await startConsole({ toolport: many, pageFolder: built.folder });
    const list = await browser.newPage();
    await list.goto(other.url);
    await list.getByText("48 of 50 ready").waitFor();
    await many.callTool("server-7__hello");
    const rows = list.locator(".rows article");
    expect(await rows.count()).toBe(50);
    expect(await rows.first().getAttribute("aria-label")).toBe("server-1");
    expect(await rows.last().innerText()).toContain("Disabled in its configuration");
    expect(await rows.last().getByRole("button").count()).toBe(0);
    await rows
      .filter({ hasText: "server-7" })
      .getByRole("img", { name: /1 call, 0 errors/ })
      .waitFor();
    await list.getByRole("button", { name: /^Problems/ }).click();
    await waitFor(async () => (await rows.count()) === 1);
    await list.getByRole("button", { name: /^All/ }).click();
    await list.getByLabel("Filter servers").fill("server-4");
    await waitFor(async () => (await rows.count()) === 11);
    await list.close();
    await server.close();
  });

  it("has no accessibility findings of axe-core in any pane", async () => {
    const { fetchTool } = (await import("../../../scripts/fetch-tool.mjs" as string)) as {
      fetchTool(folder: string, name: string, version: string): Promise<string>;
    };
    const folder = await fetchTool("axe-core", "axe-core", "4.11.0");
    const source = await readFile(join(folder, "axe.min.js"), "utf8");
    const findings: string[] = [];
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const pane of await page.getByRole("tab").all()) {
        await pane.click();
        // The content policy of the page forbids scripts in it, not those of the debugger.
        await page.evaluate(source);
        const found = await page.evaluate<string[]>(`axe.run().then(({ violations }) =>
          violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html)))`);
        findings.push(...found.map((finding) => `${scheme}: ${finding}`));
      }
    }
    expect([...new Set(findings)]).toEqual([]);
  });

  it("causes no errors in the page", () => expect(errors).toEqual([]));
});
