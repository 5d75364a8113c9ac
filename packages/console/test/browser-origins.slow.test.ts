/** Pages of other origins and rebound host names cannot access the console. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium, launchChromium } from "./chromium.js";
import { type HttpBench, startHttpBench } from "./http-bench.js";

describe.skipIf(isWithoutChromium)("the console in Chromium", () => {
  let bench: HttpBench;
  let browser: Browser;

  beforeAll(async () => {
    [bench, browser] = await Promise.all([startHttpBench(), launchChromium()]);
  });

  afterAll(async () => {
    await browser?.close();
    await bench?.[Symbol.asyncDispose]();
  });

  it("rejects requests from a page of another origin", async () => {
    const { origin, hash } = new URL(bench.console.url);
    const site = createServer((_request, response) => {
      response
        .writeHead(200, { "content-type": "text/html" })
        .end("<!doctype html><title>Other</title><p>Hello");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => site.once("listening", resolve));
    const other = await browser.newPage();
    try {
      await other.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
      const calls = bench.server.calls.length;
      const outcome = await other.evaluate(`(async () => {
        const url = ${JSON.stringify(origin)};
        const token = ${JSON.stringify(hash.slice(3))};
        const tell = (promise) => promise.then(async (r) => r.type + " " + (await r.text()), (error) => error.name);
        const body = JSON.stringify({ name: "things__echo" });
        const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
        const frame = document.createElement("iframe");
        frame.src = url;
        document.body.append(frame);
        await new Promise((resolve) => frame.addEventListener("load", resolve));
        const script = document.createElement("script");
        script.src = url + "/app.js";
        document.body.append(script);
        const loaded = await new Promise((resolve) => {
          script.onload = () => resolve("loaded");
          script.onerror = () => resolve("blocked");
        });
        let inside;
        try { inside = frame.contentDocument?.body?.innerText ?? "nothing"; } catch (error) { inside = error.name; }
        return {
          read: await tell(fetch(url)),
          action: await tell(fetch(url + "/api/callTool", { method: "POST", headers, body })),
          simple: await tell(fetch(url + "/api/callTool", { method: "POST", mode: "no-cors", body })),
          loaded,
          inside,
        };
      })()`);
      expect(outcome).toEqual({
        read: "TypeError",
        action: "TypeError",
        simple: "TypeError",
        loaded: "blocked",
        inside: "nothing",
      });
      expect(bench.server.calls).toHaveLength(calls);
    } finally {
      await other.close();
      site.close();
    }
  });

  it("rejects another host name that resolves to this machine", async () => {
    const { port, hash } = new URL(bench.console.url);
    const rebound = await launchChromium(["--host-resolver-rules=MAP evil.example 127.0.0.1"]);
    try {
      const other = await rebound.newPage();
      const statuses: number[] = [];
      other.on("response", (response) => statuses.push(response.status()));
      await other.goto(`http://evil.example:${port}/${hash}`).catch(() => {});
      expect(statuses[0]).toBe(403);
      expect(await other.locator("#app").count()).toBe(0);
    } finally {
      await rebound.close();
    }
  });
});
