/** The documentation site: built once; its links, its search and its pages in a browser, as files and below a path of a server. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { inflateSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWithoutChromium, launchChromium } from "../../packages/console/test/chromium.js";
import { root } from "./markdown.js";

interface NavigationElement {
  readonly text: string;
  readonly path?: string;
  readonly children?: readonly NavigationElement[];
}

let site: string;

beforeAll(async () => {
  mkdirSync(join(root, ".cache"), { recursive: true });
  site = mkdtempSync(join(root, ".cache", "site-"));
  const typedoc = join(root, "node_modules", "typedoc", "bin", "typedoc");
  await promisify(execFile)(process.execPath, [typedoc, "--out", site], { cwd: root });
}, 180_000);

afterAll(() => rmSync(site, { recursive: true, force: true }));

/** What a page links to, and where links to it can lead. */
function readPage(file: string): { links: string[]; loaded: string[]; ids: Set<string> } {
  const html = readFileSync(file, "utf8").replaceAll(/<code.*?<\/code>/gs, "");
  const values = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map(([, value = ""]) => unescapeHtml(value));
  return {
    links: values(/<a [^>]*?href="([^"]*)"/g),
    loaded: values(/<(?:script|img|link|source|iframe|use)[^>]*? (?:src|href)="([^"]*)"/g),
    ids: new Set(values(/ id="([^"]*)"/g)),
  };
}

const unescapeHtml = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** The data that a script of TypeDoc assigns to a global variable. */
function readData<T>(name: string): T {
  const text = readFileSync(join(site, "assets", `${name}.js`), "utf8");
  const packed = /"([\w+/=]+)"/.exec(text)?.[1] ?? "";
  return JSON.parse(inflateSync(Buffer.from(packed, "base64")).toString("utf8")) as T;
}

const flatten = (elements: readonly NavigationElement[]): NavigationElement[] =>
  elements.flatMap((element) => [element, ...flatten(element.children ?? [])]);

describe("links", () => {
  test("every link, image, search result and menu entry leads to a page and a place on it", () => {
    const files = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".html"),
    );
    const pages = new Map(files.map((name) => [join(site, name), readPage(join(site, name))]));
    const isDead = (from: string, target: string) => {
      if (/^(https?|mailto|data):/.test(target)) return false;
      const [path = "", anchor = ""] = target.split("#");
      const file = path === "" ? from : join(from, "..", decodeURIComponent(path));
      const page = pages.get(file);
      if (page === undefined) return extname(file) === "" || !existsSync(file);
      return anchor !== "" && !page.ids.has(decodeURIComponent(anchor));
    };

    const start = join(site, "index.html");
    const { rows } = readData<{ rows: { url: string }[] }>("search");
    const menu = flatten(readData<NavigationElement[]>("navigation"));
    const listed = [...rows.map(({ url }) => url), ...menu.map(({ path = "" }) => path)];
    const dead = [
      ...[...pages].flatMap(([from, { links, loaded }]) =>
        [...links, ...loaded]
          .filter((target) => isDead(from, target))
          .map((target) => `${relative(site, from)}: ${target}`),
      ),
      ...listed.filter((target) => isDead(start, target)),
    ];
    expect(dead).toEqual([]);
    expect(pages.size).toBeGreaterThan(300);
    expect(rows.length).toBeGreaterThan(1000);
  });

  test("pages, styles and scripts load nothing from elsewhere", () => {
    const names = readdirSync(site, { recursive: true, encoding: "utf8" });
    const loaded = names
      .filter((name) => name.endsWith(".html"))
      .flatMap((name) => readPage(join(site, name)).loaded)
      .filter((target) => /^([a-z]+:)?\/\//i.test(target));
    const styles = names
      .filter((name) => name.endsWith(".css"))
      .filter((name) => /@import|url\((?!["']?data:)/.test(readFileSync(join(site, name), "utf8")));
    expect({ loaded, styles }).toEqual({ loaded: [], styles: [] });
  });

  test("the menu has every guide once, below the headings of docs/README.md, and every entry point", () => {
    const menu = readData<NavigationElement[]>("navigation");
    const guides = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name.replace(/(README)?\.md$/, (_, readme) => (readme ? "index" : ""))}.html`);
    const paths = flatten(menu).flatMap(({ path }) => (path?.startsWith("docs/") ? [path] : []));
    expect(paths.sort()).toEqual(guides.sort());

    const titles = menu.map(({ text }) => text);
    expect(titles).toEqual(expect.arrayContaining(["Guides", "Decisions", "Examples", "API reference"]));
    expect(titles, "a guide is missing in docs/README.md").not.toContain("Other guides");
    const { exports } = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8"));
    expect(menu.find(({ text }) => text === "API reference")?.children?.map(({ text }) => text)).toEqual([
      "Overview",
      ...Object.keys(exports)
        .filter((path) => path !== "./package.json")
        .map((path) => `toolport${path.slice(1)}`),
    ]);
  });
});

describe.skipIf(isWithoutChromium)("in Chromium", () => {
  let browser: Browser;
  let server: Server;
  let addresses: readonly string[];

  const TYPES: Readonly<Record<string, string>> = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
  };

  beforeAll(async () => {
    server = createServer(({ url = "" }, response) => {
      const { pathname } = new URL(url, "http://site");
      const file = join(site, pathname.replace(/^\/some\/path\//, ""));
      const isHere = pathname.startsWith("/some/path/") && extname(file) !== "" && existsSync(file);
      response.writeHead(isHere ? 200 : 404, { "Content-Type": TYPES[extname(file)] ?? "text/plain" });
      response.end(isHere ? readFileSync(file) : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    addresses = [`http://127.0.0.1:${port}/some/path/`, `${pathToFileURL(site)}/`];
    browser = await launchChromium();
  });

  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server?.close(resolve));
  });

  /** Opens a page of the site. `problems` gets failed requests, requests elsewhere, and errors of scripts. */
  async function open(address: string, path: string, options: Parameters<Browser["newPage"]>[0] = {}) {
    const page = await browser.newPage(options);
    const problems: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(address)) problems.push(`elsewhere: ${request.url()}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    page.on("pageerror", (error) => problems.push(error.message));
    await page.goto(address + path);
    await guidesLink(page).waitFor({ state: "attached" });
    return { page, problems, [Symbol.asyncDispose]: () => page.close() };
  }

  /** The first entry of the menu. Scripts add it when the page is ready. */
  const guidesLink = (page: Page) => page.locator(".site-menu").getByText("Guides", { exact: true });

  const overflow = (page: Page) =>
    page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

  test.each([0, 1])("search leads to a section, by keyboard (server, file): %i", async (index) => {
    await using opened = await open(addresses[index] ?? "", "docs/index.html");
    const { page, problems } = opened;
    await page.keyboard.press("/");
    const field = page.getByRole("combobox").or(page.locator("#tsd-search-input")).first();
    await field.fill("rate limit");
    const first = page.getByRole("option").first();
    await first.waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/docs\/[\w-]+\.html#[\w-]+$/);
    const heading = page.locator(":target");
    expect((await heading.textContent())?.toLowerCase()).toContain("limit");
    expect(problems).toEqual([]);
  });

  test("landmarks, a link to the content, headings in order", async () => {
    await using opened = await open(addresses[0] ?? "", "docs/calls.html");
    const { page } = opened;
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("main");
    expect(await page.getByRole("main").getByRole("heading", { level: 1 }).allTextContents()).toEqual([
      expect.stringContaining("Calls"),
    ]);
    expect(await page.getByRole("navigation").count()).toBeGreaterThan(0);
    expect(await page.locator('a[aria-current="page"]').textContent()).toBe("Calls");
  });

  test("no page is wider than a telephone; the menu opens there", async () => {
    for (const path of [
      "index.html",
      "docs/calls.html",
      "docs/options.html",
      "api/interfaces/toolport.Toolport.html",
    ]) {
      await using opened = await open(addresses[0] ?? "", path, { viewport: { width: 390, height: 800 } });
      expect({ path, overflow: await overflow(opened.page) }).toEqual({ path, overflow: 0 });
      if (path !== "index.html") continue;
      await opened.page.locator("#tsd-toolbar-menu-trigger").click();
      await guidesLink(opened.page).click();
      await opened.page.waitForURL(/docs\/index\.html$/);
    }
  });

  test("the colours follow the system", async () => {
    const colours = await Promise.all(
      (["light", "dark"] as const).map(async (colorScheme) => {
        await using opened = await open(addresses[0] ?? "", "index.html", { colorScheme });
        return await opened.page.evaluate("getComputedStyle(document.body).backgroundColor");
      }),
    );
    expect(colours).toEqual(["rgb(255, 255, 255)", "rgb(22, 25, 28)"]);
  });
});
