/** Access control of the console over HTTP. */
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { useServer } from "../../../test/support/use-server.js";
import { startConsole } from "../src/start-console.js";
import { startHttpBench } from "./http-bench.js";

const bench = useServer(startHttpBench);

describe("the URL", () => {
  it("is on 127.0.0.1, with 256 random bits after the #", () => {
    expect(bench.console.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#t=[\w-]{43}$/);
  });

  it("is not reachable at another address", async () => {
    await expect(
      startConsole({ toolport: bench.toolport, host: "0.0.0.0" as never, pageFolder: bench.pageFolder }),
    ).rejects.toThrow("127.0.0.1 only");
  });

  it("reports a port that is in use", async () => {
    const port = Number(new URL(bench.console.url).port);
    await expect(
      startConsole({ toolport: bench.toolport, port, pageFolder: bench.pageFolder }),
    ).rejects.toThrow("in use");
  });
});

describe("the page", () => {
  it.each(["/", "/app.js", "/style.css", "/icon.svg"])(
    "serves %s with all security headers",
    async (path) => {
      const { status, headers, text } = await bench.send(path);
      expect(status).toBe(200);
      expect(text.length).toBeGreaterThan(100);
      expect(text).not.toContain(bench.token);
      expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
      });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    },
  );

  it("has at most 40 KB as sent, and refers to no other host", async () => {
    const packed = await Promise.all(
      ["/", "/app.js", "/style.css", "/icon.svg"].map((path) =>
        bench.send(path, { headers: { "accept-encoding": "gzip, br" } }),
      ),
    );
    expect(packed.map(({ headers }) => headers["content-encoding"])).toEqual(Array(4).fill("gzip"));
    const lengths = packed.map(({ headers }) => Number(headers["content-length"]));
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(40_000);
    const files = await Promise.all(
      ["/", "/app.js", "/style.css", "/icon.svg"].map((path) => bench.send(path)),
    );
    const hosts = files.flatMap(({ text }) => text.match(/https?:\/\/[\w.-]+/g) ?? []);
    // XML namespaces, which are never fetched.
    expect(new Set(hosts)).toEqual(new Set(["http://www.w3.org"]));
  });

  it.each([
    "/../package.json",
    "/..%2f..%2fpackage.json",
    "/page/app.js",
    "/app.js/..",
    "//etc/passwd",
    "/index.html.ts",
    "/%00",
  ])("has nothing at %s", async (path) => {
    expect(await bench.send(path)).toMatchObject({ status: 404, text: "" });
  });

  it("accepts only GET", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"])
      expect((await bench.send("/", { method })).status).toBe(405);
  });
});

describe("requests from elsewhere are rejected", () => {
  const host = () => new URL(bench.console.url).host;

  it.each<[string, () => Record<string, string>]>([
    ["a foreign Host", () => ({ host: "evil.example" })],
    ["a name that leads here", () => ({ host: `localhost:${new URL(bench.console.url).port}` })],
    ["another port", () => ({ host: "127.0.0.1:1" })],
    ["a foreign Origin", () => ({ origin: "https://evil.example" })],
    ["another port's Origin", () => ({ origin: "http://127.0.0.1:1" })],
    ["an Origin without a name", () => ({ origin: "null" })],
    ["a request from another site", () => ({ "sec-fetch-site": "cross-site" })],
    ["a request from the same site", () => ({ "sec-fetch-site": "same-site" })],
  ])("%s: 403, even with the right token", async (_name, headers) => {
    for (const path of ["/", "/app.js"]) {
      expect(await bench.send(path, { headers: headers() })).toMatchObject({ status: 403, text: "" });
    }
    for (const action of ["state", "callTool", "events"]) {
      const answer = await bench.post(action, { name: "things__echo" }, headers());
      expect(answer).toMatchObject({ status: 403, text: "" });
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect(bench.server.calls).toEqual([]);
  });

  it("rejects a request without Host", async () => {
    const { hostname, port } = new URL(bench.console.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write("GET / HTTP/1.0\r\n\r\n"));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("end", () => resolve(text)).on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(answer).not.toContain("<html");
  });

  it.each<[string, () => Record<string, string>]>([
    ["no token", () => ({})],
    ["a wrong token", () => ({ authorization: `Bearer ${"A".repeat(43)}` })],
    ["the beginning of the token", () => ({ authorization: `Bearer ${bench.token.slice(0, -1)}` })],
    ["the token in a cookie", () => ({ cookie: `t=${bench.token}` })],
    ["another scheme", () => ({ authorization: `Basic ${bench.token}` })],
  ])("%s: 401", async (_name, headers) => {
    for (const action of ["state", "events", "callTool"]) {
      const answer = await bench.send(`/api/${action}?t=${bench.token}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers() },
        body: "{}",
      });
      expect(answer).toMatchObject({ status: 401, text: "" });
    }
  });

  it("does not allow a preflight of another site", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const answer = await bench.send("/api/state", { method: "OPTIONS", headers });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it("accepts requests of the page itself", async () => {
    const headers = { origin: `http://${host()}`, "sec-fetch-site": "same-origin" };
    expect((await bench.post("state", {}, headers)).status).toBe(200);
  });
});
