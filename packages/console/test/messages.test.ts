/** Messages, stderr and OAuth requests that the console keeps. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createToolport, type ToolportEvents } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { useServer } from "../../../test/support/use-server.js";
import { waitFor } from "../../../test/support/wait-for.js";
import type { TrafficEntry, TrafficView } from "../src/console-api.js";
import { TrafficLog } from "../src/logs.js";
import { CANARY, JWT, startHttpBench } from "./http-bench.js";

const bench = useServer(startHttpBench);

describe("messages", () => {
  it("are recorded in both directions on connections that were open before the console", async () => {
    await bench.toolport.callTool("things__echo", { city: "Oslo" });
    const [response, request] = await bench.ask<TrafficEntry[]>("traffic", { server: "things" });
    expect(request).toMatchObject({ kind: "request", direction: "sent", label: "tools/call" });
    expect(response).toMatchObject({ kind: "response", direction: "received", label: "tools/call" });
    expect(response?.durationMs).toBeGreaterThanOrEqual(0);
    expect(await bench.ask<TrafficView>("message", { id: request?.id })).toMatchObject({
      content: {
        jsonrpc: "2.0",
        method: "tools/call",
        params: { name: "echo", arguments: { city: "Oslo" } },
      },
    });
  });

  it("include those of a new connection", async () => {
    await bench.ask("restart", { server: "things" });
    const labels = (await bench.ask<TrafficEntry[]>("traffic", { server: "things" })).map(
      ({ label }) => label,
    );
    expect(labels).toContain("tools/list");
  });

  it("are redacted", async () => {
    await bench.toolport.callTool("things__leak", { api_key: "abc-very-secret" });
    const found = await bench.ask<TrafficEntry[]>("traffic", { server: "things" });
    const views = await Promise.all(found.slice(0, 2).map(({ id }) => bench.ask("message", { id })));
    const text = JSON.stringify(views);
    expect(text).toContain("Refused: Bearer");
    for (const secret of [CANARY, JWT, "abc-very-secret"]) expect(text).not.toContain(secret);
  });

  it("need the token", async () => {
    for (const action of ["traffic", "message", "clearTraffic"])
      expect((await bench.post(action, {}, { authorization: "Bearer wrong" })).status).toBe(401);
  });

  it("can be cleared", async () => {
    await bench.ask("clearTraffic");
    expect(await bench.ask("traffic")).toEqual([]);
  });
});

describe("the log of messages", () => {
  const message = (id: number, text: string) => ({
    server: "s",
    direction: "sent" as const,
    message: { jsonrpc: "2.0", id, method: "tools/call", params: { text } },
    redact: (given: string) => given.replaceAll("configured", "[redacted]"),
  });

  it("keeps 2,000 messages", () => {
    const log = new TrafficLog(() => {});
    for (let id = 0; id < 2_500; id++) log.addMessage(message(id, "short"));
    expect(log.list()).toHaveLength(2_000);
    expect(log.list()[0]?.id).toBe(2_500);
    expect(log.view(1)).toBeUndefined();
  });

  it("discards the contents of the oldest when they are large", () => {
    const log = new TrafficLog(() => {});
    for (let id = 0; id < 20; id++) log.addMessage(message(id, "x".repeat(900_000)));
    expect(log.view(1)?.content).toBe("Discarded to save memory");
    expect(log.view(20)?.content).toMatchObject({ id: 19 });
    log.addMessage(message(21, "x".repeat(2_000_000)));
    expect(log.view(21)?.content).toBe("Too large to keep");
  });

  it("redacts the configured secrets of the server", () => {
    const log = new TrafficLog(() => {});
    log.addMessage(message(1, "a configured value"));
    expect(JSON.stringify(log.view(1))).toContain("a [redacted] value");
  });

  it("lists every message of a batch", () => {
    const log = new TrafficLog(() => {});
    log.addMessage({ ...message(1, ""), message: [{ method: "a", id: 1 }, { method: "b" }] });
    expect(log.list().map(({ kind }) => kind)).toEqual(["notification", "request"]);
  });
});

describe("events of the port", () => {
  it("reports lines of stderr without configured secrets", async () => {
    const script = `process.stderr.write("first ");process.stderr.write("line with " + process.env.KEY + "\\nsecond\\nno end");setInterval(() => {}, 1000)`;
    await using toolport = createToolport({
      mcpServers: { loud: { command: process.execPath, args: ["-e", script], env: { KEY: "key-8f2c91aa" } } },
      connectTimeoutMs: 600_000,
    });
    const lines: string[] = [];
    toolport.on("stderr", ({ server, line }) => void lines.push(`${server}: ${line}`));
    const connecting = toolport.connect();
    await waitFor(() => lines.length === 2);
    expect(lines[0]).toMatch(/^loud: first line with (?!key-8f2c91aa)/);
    expect(lines[1]).toBe("loud: second");
    await toolport.disconnect("loud");
    await connecting;
  });

  it("stops when the listener is removed", async () => {
    await using server = createTestServer({ tools: { hello: { handler: () => "hi" } } });
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    let count = 0;
    const stop = toolport.on("message", () => void count++);
    await toolport.callTool("s__hello");
    expect(count).toBeGreaterThan(2);
    stop();
    const before = count;
    await toolport.callTool("s__hello");
    expect(count).toBe(before);
  });

  it("shows the challenge of a server without the secrets that the server repeats in it", async () => {
    const server = createServer((request, response) => {
      const key = request.headers["x-api-key"];
      const text = `Bearer realm="\u001b[31m", error_description="${key} is not a token, nor is ${JWT}"`;
      response.writeHead(401, { "www-authenticate": text.replace("\u001b", "") }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?key=in-the-query-81c2`;
    await using toolport = createToolport({
      mcpServers: { odd: { url, headers: { "x-api-key": "key-77aa51f09e" }, oauth: true } },
    });
    const seen: ToolportEvents["authRequest"][] = [];
    toolport.on("authRequest", (request) => void seen.push(request));
    await toolport.connect();
    await waitFor(() => seen.length > 0);
    expect(seen[0]).toMatchObject({ step: "Challenge of the server", method: "POST", status: 401 });
    expect(JSON.stringify(seen[0]!.response)).toContain("is not a token");
    for (const secret of ["key-77aa51f09e", JWT, "in-the-query-81c2"])
      expect(JSON.stringify(seen)).not.toContain(secret);
  });

  it("describes the requests of a login without secrets", async () => {
    await using oauth = await startOAuthBench();
    await using toolport = createToolport({
      mcpServers: { vault: { url: oauth.url, oauth: true } },
      callbackUrl: "http://127.0.0.1:9/callback",
    });
    const seen: string[] = [];
    let all = "";
    toolport.on("authRequest", (request) => {
      seen.push(`${request.server}: ${request.step} ${request.status}`);
      all += JSON.stringify(request);
    });
    const { servers } = await toolport.connect();
    const callback = await logIn(servers["vault"]!.authUrl!);
    await toolport.finishAuth("vault", new URL(callback).searchParams);
    expect(seen).toEqual([
      "vault: Challenge of the server 401",
      "vault: Metadata of the resource 200",
      "vault: Metadata of the authorization server 200",
      "vault: Client registration 201",
      "vault: Token request (authorization_code) 200",
    ]);
    expect(all).toContain('{"www-authenticate":{"scheme":"Bearer"');
    expect(all).toContain('"code":"[redacted]"');
    expect(all).toContain('"access_token":"[redacted]"');
    for (const secret of oauth.secrets.keys()) expect(all).not.toContain(secret);
  });
});
