/** The waiting pane in a real Chromium: calls that other processes suspended over the same SQLite store. */

import type { ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { inputRequired } from "@modelcontextprotocol/server";
import type { Browser, Page } from "playwright-core";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CliSandbox, useProgram } from "../../../test/support/cli-sandbox.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { isWithoutChromium, launchChromium } from "./chromium.js";

const createSandbox = useProgram();

const FORM = {
  message: "Who travels?\nAll fields are checked.",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Full name", description: "As in the passport", minLength: 2 },
      email: { type: "string", format: "email" },
      born: { type: "string", format: "date" },
      about: { type: "string", maxLength: 500 },
      bags: { type: "integer", minimum: 0, maximum: 3, default: 1 },
      weight: { type: "number" },
      window: { type: "boolean" },
      meal: { type: "string", enum: ["v", "f"], enumNames: ["Vegetarian", "Fish"] },
      seat: {
        type: "string",
        oneOf: [
          { const: "a", title: "Aisle" },
          { const: "w", title: "Window" },
        ],
      },
      extras: {
        type: "array",
        items: {
          anyOf: [
            { const: "x", title: "Lounge" },
            { const: "y", title: "Wi-Fi" },
          ],
        },
      },
    },
    required: ["name", "window"],
  },
} as const;

interface Seen {
  requests: number;
  /** `flaky` does not answer this request. */
  hangsAt?: number;
  readonly answers: unknown[];
}

/** `book` asks with a form, then with a page; `both` asks two questions at once; `pay` and `flaky` ask nothing. */
function createServer(): { server: TestServer; seen: Seen } {
  const seen: Seen = { requests: 0, answers: [] };
  const server = createTestServer({
    era: "modern",
    tools: {
      book: {
        handler(_args, { request }) {
          seen.requests += 1;
          const { who, page } = (request.mcpReq.inputResponses ?? {}) as Record<
            string,
            { content?: unknown }
          >;
          if (who !== undefined) seen.answers.push(who);
          if (page !== undefined) return "booked <b>now</b>";
          if (who === undefined)
            return inputRequired({
              inputRequests: { who: inputRequired.elicit(FORM as never) },
              requestState: "1",
            });
          return inputRequired({
            inputRequests: {
              page: inputRequired.elicitUrl({
                message: "Confirm there",
                url: "http://127.0.0.1:9/confirm?x=1",
              }),
            },
            requestState: "2",
          });
        },
      },
      both: {
        handler(_args, { request }) {
          const answers = request.mcpReq.inputResponses;
          if (answers !== undefined) return JSON.stringify(answers);
          const requestedSchema = {
            type: "object" as const,
            properties: { ok: { type: "boolean" as const } },
            required: ["ok"],
          };
          const asked = ["first", "second"].map((key) => [
            key,
            inputRequired.elicit({ message: `The ${key} one?`, requestedSchema }),
          ]);
          return inputRequired({ inputRequests: Object.fromEntries(asked), requestState: "1" });
        },
      },
      flaky: {
        async handler(_args, { signal }) {
          seen.requests += 1;
          if (seen.requests === seen.hangsAt)
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return "done at last";
        },
      },
      pay: {
        handler() {
          seen.requests += 1;
          return "paid";
        },
      },
    },
  });
  return { server, seen };
}

describe.skipIf(isWithoutChromium)("the waiting pane in Chromium", () => {
  const { server, seen } = createServer();
  const consoles: { child: ChildProcess; ended: Promise<unknown> }[] = [];
  const errors: string[] = [];
  let sandbox: CliSandbox;
  let browser: Browser;
  let page: Page;

  /** Starts `toolport console` as a process and opens its page. */
  async function openConsole(...words: string[]): Promise<Page> {
    let shown = "";
    let child!: ChildProcess;
    const ended = sandbox.runWith(
      {
        onStart: (started) => {
          child = started;
          started.stdout?.on("data", (chunk) => {
            shown += String(chunk);
          });
        },
      },
      ...["console", "--json", ...words],
    );
    consoles.push({ child, ended });
    await waitFor(() => shown.includes("\n"), { timeoutMs: 30_000, label: "the URL of the console" });
    const opened = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    opened.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
    opened.on("pageerror", (error) => void errors.push(String(error)));
    await opened.goto((JSON.parse(shown) as { url: string }).url);
    await opened.getByRole("tab", { name: "Waiting" }).click();
    return opened;
  }

  const suspend = async (tool: string, ...words: string[]): Promise<string> => {
    const ended = await sandbox.run("call", `travel.${tool}`, "--suspend", "--json", ...words);
    expect([ended.code, ended.stderr]).toEqual([6, ""]);
    return ended.json<{ token: string }>().token;
  };
  const card = (tool: string) => page.getByRole("article", { name: `travel__${tool}` });

  beforeAll(async () => {
    sandbox = createSandbox();
    const { buildConsole } = await import("../../../scripts/build-console.mjs" as string);
    await buildConsole(join(dirname(sandbox.main), "../console/page"));
    const { url } = (await server.http()).entry;
    await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { travel: { url } } });
    browser = await launchChromium();
    page = await openConsole("--answered-by", "ada", "--timeout", "10000");
  });
  afterEach(() => {
    expect(errors).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    for (const { child } of consoles) child.kill("SIGINT");
    await Promise.all(consoles.map(({ ended }) => ended));
    await server.close();
    sandbox?.[Symbol.dispose]();
  });

  it("answers a form of another process; a wrong answer is shown at its field and sends nothing", async () => {
    await page.getByText("No call waits").waitFor();
    const token = await suspend("book");
    await card("book").getByText("needs an answer").waitFor();
    await card("book").getByText("for this program").waitFor();
    await page.getByRole("tab", { name: "Waiting 1" }).waitFor();
    const form = page.getByRole("form", { name: "Answer travel__book" });
    await form.getByText("Who travels?").waitFor();
    expect(await form.getByLabel("bags").inputValue()).toBe("1");
    await form.getByLabel("Full name").fill("A");
    await form.getByLabel("email").fill("nowhere");
    await form.getByLabel("born").fill("1990-12-10");
    await form.getByLabel("about").fill("Likes trains");
    await form.getByLabel("bags").fill("4");
    await form.getByLabel("weight").fill("61.5");
    await form.getByLabel("meal").selectOption("Fish");
    await form.getByLabel("seat").selectOption("Window");
    await form.getByRole("checkbox", { name: "Wi-Fi" }).check();
    await form.getByRole("checkbox", { name: "Lounge" }).check();
    await form.getByRole("button", { name: "Send answer" }).click();
    await card("book").getByRole("alert").getByText("Nothing was sent. Correct the marked fields.").waitFor();
    await form.getByText("is shorter than 2").waitFor();
    await form.getByText("is not an e-mail address").waitFor();
    await form.getByText("is more than 3").waitFor();
    await form.getByText("is required").waitFor();
    expect(await form.getByLabel("Full name").getAttribute("aria-invalid")).toBe("true");
    expect(seen.requests).toBe(1);
    await form.getByLabel("Full name").fill("Ada");
    await form.getByLabel("email").fill("ada@example.com");
    await form.getByLabel("bags").fill("2");
    await form.getByLabel("window").selectOption("yes");
    await form.getByRole("button", { name: "Send answer" }).click();

    // The next round takes the place of the first one, and its page is not opened.
    await form.getByText("Confirm there").waitFor();
    expect(seen.answers).toEqual([
      {
        action: "accept",
        content: {
          name: "Ada",
          email: "ada@example.com",
          born: "1990-12-10",
          about: "Likes trains",
          bags: 2,
          weight: 61.5,
          window: true,
          meal: "f",
          seat: "w",
          extras: ["x", "y"],
        },
      },
    ]);
    expect(await page.getByRole("article").count()).toBe(1);
    await form.getByText("127.0.0.1:9", { exact: true }).waitFor();
    await form.getByText("http://127.0.0.1:9/confirm?x=1", { exact: true }).waitFor();
    expect(browser.contexts().flatMap((context) => context.pages())).toHaveLength(1);
    await form.getByRole("button", { name: "I have opened it" }).click();
    await card("book").getByText("booked <b>now</b>").waitFor();
    await card("book").getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("No call waits").waitFor();
    expect(seen.requests).toBe(3);
    expect(await page.content()).not.toContain(token.slice(5));
    await page.getByRole("tab", { name: "Calls" }).click();
    const calls = page.getByRole("option", { name: /travel__book/ });
    await calls.first().click();
    await page.getByText("decided by ada").waitFor();
    await calls.nth(1).click();
    await page.getByText("This call was saved and waits for a person.").waitFor();
    await page.getByRole("link", { name: "Waiting" }).click();
  });

  it("approves, refuses and discards", async () => {
    const before = seen.requests;
    for (let count = 0; count < 2; count += 1)
      await suspend("pay", "--approval", "always", "--args", `{"n":${count}}`);
    await card("pay").nth(1).waitFor();
    const [first, second] = [
      card("pay").filter({ hasText: '"n": 0' }),
      card("pay").filter({ hasText: '"n": 1' }),
    ];
    await first.getByText("needs an approval").waitFor();
    await second.getByRole("button", { name: "Refuse" }).click();
    await second.getByRole("alert").getByText("The call was not approved").waitFor();
    await second.getByText("no longer waits").waitFor();
    expect(seen.requests).toBe(before);
    await first.getByRole("button", { name: "Approve" }).click();
    await first.getByText("paid").waitFor();
    expect(seen.requests).toBe(before + 1);
    for (const each of [second, first]) await each.getByRole("button", { name: "Dismiss" }).click();
    await suspend("book");
    await page.getByRole("button", { name: "Discard travel__book" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByText("No call waits").waitFor();
    expect((await sandbox.run("suspended", "--output", "raw")).stdout).toBe("");
  });

  it("says so when a call that the user answers was answered elsewhere", async () => {
    const token = await suspend("book");
    const form = page.getByRole("form", { name: "Answer travel__book" });
    await form.getByLabel("Full name").fill("Ada");
    await sandbox.runWith({ input: token }, "discard", "-");
    await card("book").getByText("no longer waits").waitFor();
    await card("book").getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("No call waits").waitFor();
  });

  it("answers one of two questions and declines the other", async () => {
    await suspend("both");
    const form = page.getByRole("form", { name: "Answer travel__both" });
    const [first, second] = ["first", "second"].map((key) =>
      form.getByRole("group").filter({ hasText: `The ${key} one?` }),
    );
    await first!.getByLabel("Decline this question").check();
    await form.getByRole("button", { name: "Send answer" }).click();
    await second!.getByText("is required").waitFor();
    await second!.getByLabel("ok").selectOption("no");
    await form.getByRole("button", { name: "Send answer" }).click();
    await card("both").getByText("answered").waitFor();
    const text = await card("both").locator(".answer").innerText();
    expect(JSON.parse(text.slice(text.indexOf("{")))).toEqual({
      first: { action: "decline" },
      second: { action: "accept", content: { ok: false } },
    });
    await card("both").getByRole("button", { name: "Dismiss" }).click();
  });

  it("says that the outcome is unknown, and sends the call again only on request", async () => {
    seen.hangsAt = seen.requests + 1;
    await suspend("flaky", "--approval", "always");
    await card("flaky").getByRole("button", { name: "Approve" }).click();
    await card("flaky").getByText("The tool may have run.").waitFor({ timeout: 30_000 });
    expect(seen.requests).toBe(seen.hangsAt);
    await card("flaky").getByRole("button", { name: "Send again…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await card("flaky").getByText("done at last").waitFor();
    expect(seen.requests).toBe(seen.hangsAt + 1);
    await card("flaky").getByRole("button", { name: "Dismiss" }).click();
  });

  it("shows the calls of its principal only, and names it on every form", async () => {
    const bob = await openConsole("--principal", "bob");
    await suspend("book", "--principal", "alice");
    await suspend("book", "--principal", "bob");
    const article = bob.getByRole("article", { name: "travel__book" });
    await article.waitFor();
    await article.getByText("for bob").waitFor();
    await bob.getByText("Calls of bob").waitFor();
    expect(await article.count()).toBe(1);
    await bob.getByRole("form").getByRole("button", { name: "Decline" }).click();
    await bob.getByText("Confirm there").waitFor();
    expect(await page.getByRole("article").count()).toBe(0);
    expect(await bob.getByText("alice").count()).toBe(0);
    const left = await sandbox.run("suspended", "--principal", "alice", "--json");
    expect(left.json<{ suspended: unknown[] }>().suspended).toHaveLength(1);
    // Fits a narrow screen.
    await bob.setViewportSize({ width: 375, height: 760 });
    expect(await bob.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });
});
