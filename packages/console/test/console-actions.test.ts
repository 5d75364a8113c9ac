/** The console's actions, its redaction of secrets, and its event stream. */
import { request } from "node:http";
import { describe, expect, it, vi } from "vitest";
import { useServer } from "../../../test/support/use-server.js";
import { waitFor } from "../../../test/support/wait-for.js";
import type {
  CallSummary,
  CallView,
  CatalogView,
  ConsoleEvent,
  StateView,
  ToolView,
} from "../src/console-api.js";
import { startConsole } from "../src/start-console.js";
import { CANARY, JWT, startHttpBench } from "./http-bench.js";

const bench = useServer(startHttpBench);

describe("actions", () => {
  it("accept only POST requests with one small JSON object", async () => {
    expect((await bench.send("/api/state", { headers: bench.headers })).status).toBe(405);
    expect(
      (await bench.send("/api/state", { method: "PUT", headers: bench.headers, body: "{}" })).status,
    ).toBe(405);
    const wrongType = { ...bench.headers, "content-type": "text/plain" };
    expect((await bench.send("/api/state", { method: "POST", headers: wrongType, body: "{}" })).status).toBe(
      415,
    );
    for (const body of ["[]", "[{}]", "1", "{"])
      expect((await bench.send("/api/state", { method: "POST", headers: bench.headers, body })).status).toBe(
        400,
      );
    const body = JSON.stringify({ text: "x".repeat(1024 * 1024) });
    expect((await bench.send("/api/state", { method: "POST", headers: bench.headers, body })).status).toBe(
      413,
    );
    const chunked = { ...bench.headers, "transfer-encoding": "chunked" };
    expect((await bench.send("/api/state", { method: "POST", headers: chunked, body })).status).toBe(413);
  });

  it.each(["nothing", "add", "register", "remove", "__proto__", "constructor", ""])(
    "do not include %j",
    async (action) => {
      expect((await bench.post(action, { server: "x", entry: { command: "touch" } })).status).toBe(404);
    },
  );

  it("return the state and the catalog", async () => {
    const { servers, hasStore } = await bench.ask<StateView>("state");
    expect(hasStore).toBe(true);
    expect(servers.map(({ name, state, toolCount, source }) => [name, state, toolCount, source])).toEqual([
      ["things", "ready", 3, "toolport.json:3"],
      ["lean", "ready", 3, null],
      ["program", "idle", 0, null],
    ]);
  });

  it("return what tools cost in tokens, and start no program for it", async () => {
    const { tools } = await bench.ask<CatalogView>("catalog");
    const { tools: costs } = await bench.toolport.cost({ servers: ["things", "lean"] });
    const expected = costs
      .filter(({ server }) => server !== "toolport")
      .map(({ name, tokens, deferred }) => ({ name, tokens, deferred }));
    expect(tools.map(({ name, tokens, deferred }) => ({ name, tokens, deferred }))).toEqual(
      expect.arrayContaining(expected),
    );
    expect(tools.filter(({ deferred }) => deferred).map(({ server }) => server)).toEqual([
      ...["lean", "lean", "lean"],
    ]);
    expect(await bench.ask<ToolView>("tool", { name: "lean__echo" })).toMatchObject({ deferred: true });
    expect(bench.toolport.snapshot().servers["program"]?.state).toBe("idle");
  });

  it("call tools, read resources, get prompts", async () => {
    expect(await bench.ask("callTool", { name: "things__echo", args: { city: "Oslo" } })).toMatchObject({
      text: '{"city":"Oslo"}',
      isError: false,
    });
    expect(await bench.ask("readResource", { server: "things", uri: "docs://index" })).toMatchObject([
      { text: "The index" },
    ]);
    expect(
      await bench.ask("getPrompt", { server: "things", name: "hello", args: { who: "Ada" } }),
    ).toMatchObject({
      messages: [{ role: "user", content: { text: "Hello Ada" } }],
    });
    await expect(bench.ask("callTool", { name: "things__eco" })).rejects.toThrow("things__echo");
  });

  it("are aborted when the page disconnects", async () => {
    const { hostname, port } = new URL(bench.console.url);
    const sent = request({ hostname, port, path: "/api/callTool", method: "POST", headers: bench.headers });
    sent.on("error", () => {});
    sent.end(JSON.stringify({ name: "things__slow" }));
    const slow = async () =>
      (await bench.ask<CallSummary[]>("calls")).find(({ target }) => target === "things__slow");
    await waitFor(slow);
    sent.destroy();
    await waitFor(async () => (await slow())?.outcome === "error");
  });

  it("start no program without consent", async () => {
    for (const [action, body] of [
      ["connect", {}],
      ["restart", {}],
      ["refresh", {}],
      ["authorize", {}],
      ["readResource", { uri: "a:b" }],
      ["getPrompt", { name: "x" }],
      ["connect", { consent: "true" }],
      ["callTool", { name: "lean__echo" }],
    ] as const) {
      await expect(bench.ask(action, { server: "program", ...body })).rejects.toMatchObject({
        code: "CONSENT_NEEDED",
        commands: [{ server: "program", command: expect.stringContaining("process.exit(3)") }],
      });
    }
    const state = async () =>
      (await bench.ask<StateView>("state")).servers.find(({ name }) => name === "program");
    expect(await state()).toMatchObject({ state: "idle", needsConsent: true });
    const report = await bench.ask<{ error: { code: string } }>("connect", {
      server: "program",
      consent: true,
    });
    expect(report.error.code).toBe("SPAWN_FAILED");
    expect(await state()).toMatchObject({ state: "failed", needsConsent: false });
  });
});

describe("secrets", () => {
  it("are not in the command of a server", async () => {
    expect(JSON.stringify(await bench.ask("state"))).not.toContain("abc123secret");
  });

  it("are redacted in arguments, results and errors of calls, but sent again in a replay", async () => {
    await bench.toolport.callTool("things__echo", { password: "hunter2", note: "plain" });
    await bench.toolport.callTool("things__leak");
    const calls = await bench.ask<CallSummary[]>("calls");
    const views = await Promise.all(calls.map(({ id }) => bench.ask<CallView>("call", { id })));
    const text = JSON.stringify(views);
    for (const secret of ["hunter2", CANARY, JWT]) expect(text).not.toContain(secret);
    expect(text).toContain("plain");
    const echo = views.find(({ args }) => JSON.stringify(args).includes("plain"));
    expect(echo?.args).toEqual({ password: "[redacted]", note: "plain" });
    await bench.ask("replay", { id: echo?.id });
    expect(bench.server.calls.at(-1)?.args).toEqual({ password: "hunter2", note: "plain" });
  });

  it("shows the sent arguments of a call, and replays the original ones", async () => {
    await bench.toolport.callTool("things__echo", { note: "given" }, { added: { tenant: "acme" } });
    const [last] = await bench.ask<CallSummary[]>("calls");
    const view = await bench.ask<CallView>("call", { id: last?.id });
    expect(view.args).toEqual({ note: "given", tenant: "acme" });
    await bench.ask("replay", { id: last?.id });
    expect(bench.server.calls.at(-1)?.args).toEqual({ note: "given" });
  });

  it("are not in the list of saved records", async () => {
    const view = await bench.ask<{ records: { key: string; version: number }[] }>("records");
    expect(view.records).toContainEqual(expect.objectContaining({ key: "test/secret", sealed: true }));
    expect(JSON.stringify(view)).not.toContain(CANARY);
  });
});

describe("the stream", () => {
  async function open() {
    const stop = new AbortController();
    const { origin } = new URL(bench.console.url);
    const response = await fetch(`${origin}/api/events`, {
      method: "POST",
      headers: bench.headers,
      body: "{}",
      signal: stop.signal,
    });
    const events: ConsoleEvent[] = [];
    const reading = (async () => {
      let rest = "";
      for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const line of lines) events.push(JSON.parse(line));
      }
    })().catch(() => {});
    return { events, reading, stop: () => stop.abort() };
  }

  it("sends calls, states and warnings live", async () => {
    const { events, reading, stop } = await open();
    await waitFor(() => events.length >= 2);
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["hello", "state"]);
    await bench.toolport.callTool("things__echo", { n: 1 });
    const call = (event: ConsoleEvent) => (event.type === "call" ? [event.call.outcome] : []);
    await waitFor(() => events.flatMap(call).includes("ok"));
    expect(events.flatMap(call)).toEqual(["running", "ok"]);
    await bench.toolport.disconnect("things");
    await waitFor(() =>
      events.some((event) => event.type === "activity" && event.entry.text.startsWith("ready → closed")),
    );
    await waitFor(() =>
      events.some((event) => event.type === "state" && event.state.servers[0]?.state === "closed"),
    );
    await bench.toolport.connectServer("things");
    stop();
    await reading;
  });

  it("limits its rate and reports dropped events", async () => {
    const { events, reading, stop } = await open();
    await waitFor(() => events.length >= 2);
    // With a clock that stands still no second passes, however long the calls take.
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    try {
      for (let round = 0; round < 20; round++)
        await Promise.all(Array.from({ length: 20 }, () => bench.toolport.callTool("things__echo")));
    } finally {
      clock.mockRestore();
    }
    const sent = () => events.filter(({ type }) => type === "call").length;
    const missed = () => events.reduce((sum, event) => sum + (event.type === "missed" ? event.count : 0), 0);
    // Every call starts and ends.
    await waitFor(() => sent() + missed() >= 800);
    expect(sent()).toBeGreaterThan(0);
    expect(sent()).toBeLessThanOrEqual(100);
    expect(await bench.ask<CallSummary[]>("calls")).toHaveLength(200);
    stop();
    await reading;
  });

  it("ends with the console, which does not close the port", async () => {
    const other = await startConsole({ toolport: bench.toolport, pageFolder: bench.pageFolder });
    const { origin, hash } = new URL(other.url);
    const response = await fetch(`${origin}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${hash.slice(3)}` },
      body: "{}",
    });
    await other.close();
    await response.text().catch(() => {});
    await expect(fetch(origin)).rejects.toThrow();
    expect((await bench.toolport.callTool("things__echo", {})).isError).toBe(false);
  });
});
