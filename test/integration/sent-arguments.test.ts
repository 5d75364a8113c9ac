/** The arguments that are sent: visible to approve and listeners, and computed for each fallback server. */
import {
  type ApprovalRequest,
  type CallEndEvent,
  type CallEvent,
  createToolport,
  type SchemaValidatorFactory,
} from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { MESSY, openSearch, REPAIRED, search, tool } from "../support/search-scene.js";

describe("approve", () => {
  test("does not run for refused arguments", async () => {
    const asked: unknown[] = [];
    await using scene = await openSearch({ approve: (request) => Boolean(asked.push(request)) });
    const error = await failure(scene.toolport.callTool("s__search", { query: true }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(asked).toEqual([]);
  });

  test("gets the arguments for the first server: repaired, with the values that interceptors add", async () => {
    const asked: ApprovalRequest["args"][] = [];
    await using scene = await openSearch({
      approve: { ask: ({ args }) => Boolean(asked.push(args)), when: ({ args }) => "tenant" in args },
      interceptors: [(next) => (call) => next({ ...call, added: { tenant: "acme" } })],
    });
    const { repaired } = await scene.toolport.callTool("s__search", MESSY);
    expect(asked).toEqual([{ ...REPAIRED, tenant: "acme" }]);
    expect(scene.sent()).toEqual(asked);
    expect(repaired).toEqual([
      { path: "$.limit", change: "text to number" },
      { path: "$.after", change: "left out" },
    ]);
  });

  test("causes no second check, unless the tool was listed again meanwhile", async () => {
    let checks = 0;
    const validator: SchemaValidatorFactory = {
      compile: () => () => {
        checks += 1;
        return undefined;
      },
    };
    await using scene = await openSearch({
      validator,
      approve: async ({ args }) => {
        if (args["query"] === "again") await scene.toolport.refresh("s");
        return true;
      },
    });
    await scene.toolport.callTool("s__search", { query: "once" });
    expect(checks).toBe(1);
    await scene.toolport.callTool("s__search", { query: "again" });
    expect(checks).toBe(3);
  });
});

test("a fallback server starts from the model's own arguments", async () => {
  const other = { type: "object", properties: { query: { type: "string" }, limit: { type: "string" } } };
  await using main = createTestServer({ tools: { search: tool(search) } });
  await using spare = createTestServer({ tools: { search: tool(other) } });
  const http = await main.http();
  const events: CallEvent[] = [];
  const ended: CallEndEvent[] = [];
  const asked: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { main: { ...http.entry, fallback: "spare" }, spare: spare.memory() },
    listeners: [{ before: (event) => events.push(event), after: (event) => ended.push(event) }],
    approve: ({ args }) => Boolean(asked.push(args)),
  });
  await toolport.connect();
  await main.close();
  const result = await toolport.callTool("main__search", { query: "x", limit: "5", tags: "bug" });
  // The spare server accepts the limit as text: it is repaired for the first server only.
  expect(spare.calls.map(({ args }) => args)).toEqual([{ query: "x", limit: "5", tags: "bug" }]);
  expect(result).toMatchObject({ server: "spare" });
  expect(result.repaired).toBeUndefined();
  expect(asked).toEqual([{ query: "x", limit: 5, tags: ["bug"] }]);
  expect(events[0]?.message["arguments"]).toEqual({ query: "x", limit: 5, tags: ["bug"] });
  expect(ended[0]?.message["arguments"]).toEqual({ query: "x", limit: "5", tags: "bug" });
});

describe("listeners", () => {
  const heard = () => {
    const events: [string, CallEvent | CallEndEvent][] = [];
    return {
      events,
      listener: {
        before: (event: CallEvent) => events.push(["before", event]),
        after: (event: CallEndEvent) => events.push(["after", event]),
      },
    };
  };
  const shown = ([moment, event]: [string, CallEvent | CallEndEvent]) => [moment, event.message["arguments"]];

  test("see the sent arguments: after interceptors, defaults, repair and added values", async () => {
    const { events, listener } = heard();
    await using scene = await openSearch({
      listeners: [listener],
      interceptors: [
        (next) => (call) =>
          next({ ...call, args: { ...call.args, tags: ["bug"] }, added: { tenant: "acme" } }),
      ],
    });
    await scene.toolport.callTool("s__search", MESSY, { applyDefaults: true });
    const sent = { query: "x", limit: 5, after: "start", tags: ["bug"], tenant: "acme" };
    expect(scene.sent()).toEqual([sent]);
    expect(events.map(shown)).toEqual([
      ["before", sent],
      ["after", sent],
    ]);
    expect(events[0]?.[1].given).toBe(MESSY);
    expect(events[1]?.[1]).toMatchObject({ repaired: [{ path: "$.limit" }, { path: "$.after" }] });
  });

  test("run before approve returns, and see the repairs of a failed call", async () => {
    const { events, listener } = heard();
    await using scene = await openSearch({
      listeners: [listener],
      approve: () => {
        expect(events.map(shown)).toEqual([["before", REPAIRED]]);
        return false;
      },
    });
    await failure(scene.toolport.callTool("s__search", MESSY));
    expect(events[1]?.[1]).toMatchObject({
      outcome: "error",
      error: { code: "REFUSED" },
      repaired: [{ path: "$.limit" }, { path: "$.after" }],
    });
  });

  test("see the original arguments if nothing is sent", async () => {
    const { events, listener } = heard();
    await using scene = await openSearch({ listeners: [listener] });
    const args = { query: true };
    await failure(scene.toolport.callTool("s__search", args));
    expect(events.map(shown)).toEqual([
      ["before", args],
      ["after", args],
    ]);
    expect(events[1]?.[1]).toMatchObject({ outcome: "error", error: { code: "INVALID_ARGUMENTS" } });
  });

  test("on('call') reports the same arguments", async () => {
    await using scene = await openSearch();
    const news: unknown[] = [];
    scene.toolport.on("call", ({ phase, message, given }) => news.push([phase, message["arguments"], given]));
    await scene.toolport.callTool("s__search", MESSY);
    expect(news).toEqual([
      ["start", REPAIRED, MESSY],
      ["end", REPAIRED, MESSY],
    ]);
  });
});
