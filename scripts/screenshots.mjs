/** Makes the pictures of the console in `docs/images/`. Needs a build and Chromium: `npm run screenshots`. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { createConsoleAnswers, startConsole } from "../packages/toolport/dist/console/index.js";
import { createToolport } from "../packages/toolport/dist/index.js";
import { createTestServer } from "../packages/toolport/dist/testing/index.js";
import { root } from "./fetch-tool.mjs";
import { toPalettePng } from "./palette-png.mjs";

const FOLDER = process.argv[2] ?? join(root, "docs", "images");
const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/** The console draws the last hour: calls are made as if one had passed. */
const realNow = Date.now;
let minutesAgo = 0;
Date.now = () => realNow() - minutesAgo * 60_000;

const ends = [];
const use = (thing) => {
  ends.push(() => thing[Symbol.asyncDispose]());
  return thing;
};

function weather(name) {
  const forecast = {
    type: "object",
    properties: {
      city: { type: "string", description: "Name of the city", examples: ["Oslo"] },
      days: { type: "integer", description: "How many days ahead", default: 3 },
      units: { enum: ["metric", "imperial"], description: "How to write temperatures" },
      details: { type: "boolean", description: "Wind and rain, hour by hour" },
    },
    required: ["city"],
  };
  return createTestServer({
    name,
    tools: {
      forecast: {
        title: "Forecast",
        description: "The weather of the next days in a city.",
        inputSchema: forecast,
        handler: (args) => ({ structuredContent: { ...args, sky: "clear", high: 14, low: 6 } }),
      },
      warn: {
        description: "Sends a warning.",
        handler: () => ({ isError: true, content: [{ type: "text", text: "No storm" }] }),
      },
    },
  });
}

async function manyServers() {
  const servers = {};
  const regions = ["eu", "us", "asia", "test", "old"];
  const names = [
    "billing",
    "calendar",
    "crm",
    "docs",
    "files",
    "issues",
    "mail",
    "search",
    "tickets",
    "wiki",
  ];
  for (const region of regions)
    for (const name of names) {
      const server = use(
        createTestServer({
          name,
          tools: Object.fromEntries(
            Array.from({ length: 2 + ((name.length * 7) % 9) }, (_, index) => [
              `${name}_${index}`,
              { description: `Tool ${index} of ${name}`, handler: () => "done" },
            ]),
          ),
        }),
      );
      servers[`${name}-${region}`] = server.memory();
    }
  servers["files-old"] = { command: "files-mcp-server", args: ["--root", "/srv"] };
  servers["mail-old"] = { url: "http://127.0.0.1:9/mcp" };
  servers["wiki-old"] = { ...servers["wiki-old"], enabled: false };
  return servers;
}

/** A server whose tool has a user interface. */
function tides() {
  const html = `<!doctype html><meta charset="utf-8">
    <style>body { margin: 16px; font: 14px system-ui } svg { width: 100%; height: 150px } button { padding: 6px 14px }</style>
    <h3 id="title"></h3><svg viewBox="0 0 240 100" preserveAspectRatio="none"><path id="tide" fill="#0f766e33" stroke="#0f766e" /></svg>
    <button id="next">Next day</button>
    <script>
      let day = 0;
      const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
      const draw = ({ structuredContent: { place, date, heights } }) => {
        title.textContent = place + ", " + date;
        tide.setAttribute("d", "M0,100 " + heights.map((height, hour) => "L" + hour * 10.4 + "," + (90 - height * 20)).join(" ") + " L240,100");
        send({ method: "ui/notifications/size-changed", params: { height: 290 } });
      };
      addEventListener("message", ({ data }) => {
        if (data.id === 1) send({ method: "ui/notifications/initialized" });
        else if (data.method === "ui/notifications/tool-result") draw(data.params);
        else if (data.result?.structuredContent) draw(data.result);
      });
      next.onclick = () => send({ id: 2 + day, method: "tools/call", params: { name: "show_tides", arguments: { place: "Bergen", day: ++day } } });
      send({ id: 1, method: "ui/initialize", params: { appInfo: { name: "tides", version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26" } });
    </script>`;
  return createTestServer({
    name: "tides",
    tools: {
      show_tides: {
        title: "Show tides",
        description: "The tides of a place, as a chart.",
        inputSchema: {
          type: "object",
          properties: { place: { type: "string" }, day: { type: "integer", default: 0 } },
          required: ["place"],
        },
        _meta: { ui: { resourceUri: "ui://tides/chart" } },
        handler: ({ place, day = 0 }) => ({
          structuredContent: {
            place,
            date: `1${day} March`,
            heights: Array.from({ length: 24 }, (_, hour) => 1.8 + 1.5 * Math.sin((hour + day) / 1.95)),
          },
        }),
      },
    },
    resources: { "ui://tides/chart": { mimeType: "text/html;profile=mcp-app", text: html } },
  });
}

/** A console with its page. */
async function open(browser, mcpServers, { width = 1280, height = 800, scheme = "light" } = {}) {
  const answers = createConsoleAnswers();
  const toolport = use(createToolport({ mcpServers, retry: false, ...answers.options }));
  const running = use(await startConsole({ toolport, answers }));
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  page.setDefaultTimeout(30_000);
  await page.goto(running.url);
  const shoot = async (name) => {
    await page
      .getByRole("button", { name: "Dismiss" })
      .click({ timeout: 300 })
      .catch(() => {});
    const png = toPalettePng(await page.screenshot());
    await writeFile(join(FOLDER, `console-${name}.png`), png);
    console.log(`console-${name}.png ${Math.round(png.length / 1024)} KB`);
  };
  return { toolport, page, shoot, tab: (name) => page.getByRole("tab", { name }).click() };
}

await mkdir(FOLDER, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium",
  args: ["--no-proxy-server", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
});
ends.push(() => browser.close());
try {
  const main = use(weather("weather"));
  const few = {
    weather: (await main.http()).entry,
    everything: { command: "node", args: [EVERYTHING], cwd: root },
    reports: { command: "reports-mcp-server", args: ["--quarterly"] },
    archive: { url: "https://archive.example.com/mcp", enabled: false },
  };
  const { toolport, page, shoot, tab } = await open(browser, few);
  minutesAgo = 58;
  await toolport.connect();
  for (; minutesAgo > 0; minutesAgo -= 2)
    for (let count = 0; count < 1 + (minutesAgo % 7); count++) {
      await toolport.callTool("weather__forecast", { city: "Oslo", days: count });
      if ((minutesAgo + count) % 9 === 0) await toolport.callTool("weather__warn");
    }
  await page.getByText("2 of 4 ready").waitFor();
  await page
    .getByRole("img", { name: /in the last hour/ })
    .first()
    .waitFor();
  await shoot("light");
  await page.emulateMedia({ colorScheme: "dark" });
  await tab("Calls");
  await page
    .getByRole("option", { name: /weather__forecast/ })
    .first()
    .click();
  await page.getByText('"sky": "clear"').waitFor();
  await shoot("dark");
  await page.emulateMedia({ colorScheme: "light" });
  await tab("Catalog");
  await page.getByLabel("Filter tools").fill("weather__forecast");
  await page.getByRole("option", { name: /weather__forecast/ }).click();
  await page.getByLabel("city").fill("Oslo");
  await shoot("catalog");
  await tab("Messages");
  await page.getByLabel("Server", { exact: true }).selectOption("weather");
  await page.getByLabel("Kind").selectOption("request");
  await page
    .getByRole("option", { name: /tools\/call/ })
    .first()
    .click();
  await page.getByRole("region", { name: "Message" }).waitFor();
  await page.getByLabel("Kind").selectOption("");
  await shoot("messages");
  await tab("Catalog");
  await page.getByLabel("Filter tools").fill("long-running");
  await page.getByRole("option", { name: /long-running/ }).click();
  await page.getByLabel("duration").fill("40");
  await page.getByLabel("steps").fill("80");
  await page.getByRole("button", { name: "Call tool" }).click();
  await page.getByText(/Running: (?:[4-9]|\d\d) of 80/).waitFor();
  await shoot("running");
  await page.getByRole("button", { name: "Cancel the call" }).click();
  await page.getByLabel("Filter tools").fill("trigger-elicitation-request");
  await page
    .getByRole("option", { name: /trigger-elicitation-request/ })
    .first()
    .click();
  await page.getByRole("button", { name: "Call tool" }).click();
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.getByText("is required").waitFor();
  await page.evaluate("scrollTo(0, 0)");
  await shoot("elicitation");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.setViewportSize({ width: 390, height: 800 });
  await tab("Servers");
  await page.evaluate("scrollTo(0, 0)");
  await shoot("narrow");
  const apps = await open(browser, { tides: use(tides()).memory() }, { height: 900 });
  await apps.toolport.connect();
  await apps.tab("Catalog");
  await apps.page.getByRole("option", { name: /show_tides/ }).click();
  await apps.page.getByLabel("place").fill("Bergen");
  await apps.page.getByRole("button", { name: "Call tool" }).click();
  const app = apps.page.frameLocator("iframe");
  await app.getByText("Bergen, 10 March").waitFor();
  await app.getByRole("button", { name: "Next day" }).click();
  await app.getByText("Bergen, 11 March").waitFor();
  await apps.page.locator('iframe[height="290"]').scrollIntoViewIfNeeded();
  await apps.shoot("app");
  const many = await open(browser, await manyServers(), { height: 900 });
  minutesAgo = 50;
  await many.toolport.connect();
  const tools = await many.toolport.tools();
  for (; minutesAgo > 0; minutesAgo -= 5)
    for (const [index, { name }] of tools.entries())
      if ((index + minutesAgo) % 11 === 0) await many.toolport.callTool(name);
  await many.page.getByText("47 of 50 ready").waitFor();
  await many.page
    .getByRole("img", { name: /in the last hour/ })
    .first()
    .waitFor();
  await many.shoot("many");
} finally {
  for (const end of ends.reverse()) await end();
}
