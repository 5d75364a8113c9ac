/** The last hour of servers, and adding a server, over HTTP. */
import { describe, expect, it } from "vitest";
import { useServer } from "../../../test/support/use-server.js";
import type { CallNews } from "../../core/src/execution/listeners.js";
import type { HistoryView, StateView } from "../src/console-api.js";
import { ServerHistory } from "../src/logs.js";
import { startHttpBench } from "./http-bench.js";

const ended = (server: string, durationMs: number, outcome: "ok" | "error" | "tool_error" = "ok") =>
  ({
    phase: "end",
    kind: "tool",
    id: 1,
    server,
    outcome,
    durationMs,
    attempts: 1,
    message: {},
    tries: [],
    ...(outcome === "error" && { error: new Error("failed") }),
  }) as CallNews;

describe("the history of a server", () => {
  it("has one value per minute and forgets what is older than an hour", () => {
    let now = 1_000 * 60_000;
    const history = new ServerHistory(() => now);
    history.addCall(ended("a", 10));
    history.addCall(ended("a", 30, "error"));
    now += 59 * 60_000;
    history.addCall(ended("a", 5, "tool_error"));
    const { calls, errors, latencies } = history.view().servers["a"]!;
    expect([calls.length, calls[0], calls[59]]).toEqual([60, 2, 1]);
    expect([errors[0], errors[59]]).toEqual([1, 1]);
    expect([latencies[0], latencies[1], latencies[59]]).toEqual([20, null, 5]);
    now += 60_000;
    expect(history.view().servers["a"]!.calls[0]).toBe(0);
    expect(history.view().until).toBe(now + 60_000);
  });

  it("keeps 100 states, and the one in which the hour began", () => {
    let now = 0;
    const history = new ServerHistory(() => now);
    history.addState("a", "ready");
    now = 2 * 3_600_000;
    history.addState("a", "failed");
    expect(history.view().servers["a"]!.states.map(({ state }) => state)).toEqual(["ready", "failed"]);
    now += 3_600_001;
    history.addState("a", "ready");
    expect(history.view().servers["a"]!.states.map(({ state }) => state)).toEqual(["failed", "ready"]);
    for (let count = 0; count < 500; count++) history.addState("a", "connecting");
    expect(history.view().servers["a"]!.states).toHaveLength(100);
  });

  it("is bounded in servers", () => {
    const history = new ServerHistory();
    for (let count = 0; count < 2_000; count++) history.addCall(ended(`s${count}`, 1));
    expect(Object.keys(history.view().servers)).toHaveLength(1_000);
  });
});

describe("the console", () => {
  const bench = useServer(startHttpBench);

  it("counts calls and notes states", async () => {
    await bench.toolport.callTool("things__echo");
    await bench.toolport.callTool("things__leak");
    const { servers } = await bench.ask<HistoryView>("history");
    const sum = (values: readonly number[] = []) => values.reduce((all, value) => all + value, 0);
    expect(sum(servers["things"]?.calls)).toBe(2);
    expect(sum(servers["things"]?.errors)).toBe(1);
    expect(servers["things"]?.states.at(-1)?.state).toBe("ready");
    expect(servers["program"]?.states.at(-1)?.state).toBe("idle");
  });

  it("adds a server by URL, and nothing else", async () => {
    const add = async (name: string, url: string) =>
      (await bench.post("addServer", { name, url })).text.trim();
    expect(await add("bad name", "https://example.com/mcp")).toContain("The name has");
    expect(await add("things", "https://example.com/mcp")).toContain("already in use");
    for (const url of ["file:///etc/passwd", "npx -y server", "javascript:alert(1)", ""])
      expect(await add("more", url)).toBe("This is not an http or https URL");
    expect(await add("more", "https://example.com/mcp")).toBe('{"value":null}');
    const { servers } = await bench.ask<StateView>("state");
    expect(servers.find(({ name }) => name === "more")).toMatchObject({
      state: "idle",
      disabled: false,
      address: "https://example.com/mcp",
    });
  });
});
