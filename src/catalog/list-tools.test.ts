/** Reading a tool list: pages, servers that never end, entries that are none. */
import { describe, expect, test } from "vitest";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ChannelRequestOptions } from "../protocol/request-channel.js";
import type { Session } from "../protocol/session.js";
import { listTools } from "./list-tools.js";

type Page = Record<string, unknown>;

const inputSchema = { type: "object" };
const tool = (name: unknown, more: Page = {}) => ({ name, inputSchema, ...more });

/** As much of a session as a list needs. */
function serve(answer: (cursor: unknown, page: number) => Page, more: Partial<Session> = {}) {
  const asked: { cursor: unknown; options: ChannelRequestOptions }[] = [];
  const session = {
    server: "it",
    era: "legacy",
    transport: "stdio",
    capabilities: { tools: {} },
    unproven: false,
    async request(_method: string, { cursor }: Page, options: ChannelRequestOptions) {
      asked.push({ cursor, options });
      return answer(cursor, asked.length);
    },
    ...more,
  } as Session;
  return { asked, list: () => listTools(session, { timeoutMs: 1_000 }) };
}

const names = (list: Awaited<ReturnType<typeof listTools>>) => list.tools.map(({ sourceName }) => sourceName);

describe("pages", () => {
  test("are read until there is no cursor", async () => {
    const { list, asked } = serve((_cursor, page) => ({
      tools: [tool(`t${page}`)],
      ...(page < 3 && { nextCursor: `c${page}` }),
    }));
    const found = await list();
    expect(names(found)).toEqual(["t1", "t2", "t3"]);
    expect(found.cut).toBeUndefined();
    expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, "c1", "c2"]);
  });

  test("an empty cursor is a cursor; null is none", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [], nextCursor: page === 1 ? "" : null }));
    expect((await list()).cut).toBeUndefined();
    expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, ""]);
  });

  test("a list of a million entries is cut, and so is a page that is none", async () => {
    const many = serve(() => ({ tools: Array.from({ length: 1_000_000 }, () => 0) }));
    const found = await many.list();
    expect(found.withheld).toHaveLength(10_000);
    expect(found.cut).toContain("more than 10000 entries");
    const none = serve(() => ({ tools: "none" }));
    expect((await none.list()).cut).toContain("without its list of tools");
  });

  test("the same cursor again ends the list, and it is said to be cut", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [tool(`t${page}`)], nextCursor: "again" }));
    const found = await list();
    expect(found.cut).toContain("same cursor");
    expect(names(found)).toEqual(["t1", "t2"]);
    expect(asked).toHaveLength(2);
  });

  test("cursors that go round in a circle are seen", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [], nextCursor: `c${page % 3}` }));
    expect((await list()).cut).toContain("same cursor");
    expect(asked).toHaveLength(4);
  });

  test("64 and no more", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [tool(`t${page}`)], nextCursor: `c${page}` }));
    const found = await list();
    expect(found.cut).toContain("64 pages");
    expect(asked).toHaveLength(64);
    expect(found.tools).toHaveLength(64);
  });

  test.each([5, {}, [], true])("a cursor %j ends the list, and it is said to be cut", async (nextCursor) => {
    const { list } = serve(() => ({ tools: [tool("one")], nextCursor }));
    const found = await list();
    expect(found.cut).toContain("not text");
    expect(names(found)).toEqual(["one"]);
  });

  test("all share one time limit", async () => {
    const { list, asked } = serve((_cursor, page) => {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return { tools: [], ...(page < 3 && { nextCursor: `c${page}` }) };
    });
    await list();
    const limits = asked.map(({ options }) => options.timeoutMs);
    expect(limits[0]).toBeLessThanOrEqual(1_000);
    expect(limits[2]).toBeLessThanOrEqual(limits[0]! - 39);
    for (const { options } of asked) expect(options.maxTimeoutMs).toBe(options.timeoutMs);
  });
});

describe("entries", () => {
  test.each<[unknown, string]>([
    [null, "not an object"],
    ["tool", "not an object"],
    [[tool("x")], "not an object"],
    [tool(42), "name"],
    [tool(""), "name"],
    [tool(undefined), "name"],
    [{ name: "bare" }, "inputSchema"],
    [{ name: "text", inputSchema: "object" }, "inputSchema"],
    [{ name: "null", inputSchema: null }, "inputSchema"],
    [{ name: "list", inputSchema: [] }, "inputSchema"],
    [tool("bad-output", { outputSchema: "x" }), "outputSchema"],
    [tool("null-output", { outputSchema: null }), "outputSchema"],
  ])("%j is withheld with a reason, and costs only itself", async (entry, reason) => {
    const { list } = serve(() => ({ tools: [tool("before"), entry, tool("after")] }));
    const found = await list();
    expect(names(found)).toEqual(["before", "after"]);
    expect(found.withheld).toEqual([{ name: expect.any(String), reason: expect.stringContaining(reason) }]);
  });

  test("a name listed twice counts once, also on another page", async () => {
    const { list } = serve((_cursor, page) => ({
      tools: [tool("same", { description: `page ${page}` })],
      ...(page === 1 && { nextCursor: "c" }),
    }));
    const found = await list();
    expect(found.tools).toMatchObject([{ sourceName: "same", description: "page 1" }]);
    expect(found.withheld).toEqual([{ name: "same", reason: "Listed twice" }]);
  });

  test("fields of the wrong kind are left out, the tool stays", async () => {
    const { list } = serve(() => ({
      tools: [tool("odd", { title: 5, description: {}, annotations: [], icons: "x", _meta: 1 })],
    }));
    expect((await list()).tools).toEqual([
      expect.objectContaining({
        sourceName: "odd",
        title: undefined,
        description: undefined,
        annotations: undefined,
        icons: undefined,
        _meta: undefined,
      }),
    ]);
  });

  test.each([undefined, null, "x", {}])("tools: %j is an empty list, and said to be none", async (tools) => {
    const { list } = serve(() => ({ tools }));
    expect(await list()).toMatchObject({ tools: [], withheld: [], cut: expect.stringContaining("tools") });
  });

  test("bad header declarations withhold a tool only where headers are sent", async () => {
    const bad = tool("bad", {
      inputSchema: { type: "object", properties: { a: { type: "object", "x-mcp-header": "A" } } },
    });
    const legacy = serve(() => ({ tools: [bad] }));
    expect(names(await legacy.list())).toEqual(["bad"]);
    const modern = serve(() => ({ tools: [bad] }), { era: "modern", transport: "http" });
    expect((await modern.list()).withheld).toHaveLength(1);
  });
});

describe("a server", () => {
  test("that offers no tools is not asked", async () => {
    const { list, asked } = serve(() => ({ tools: [tool("x")] }), { capabilities: {} });
    expect(await list()).toEqual({ tools: [], withheld: [] });
    expect(asked).toEqual([]);
  });

  const unknown = () => {
    throw new ToolCallError({ code: "PROTOCOL", what: "?", rpcCode: -32601 });
  };

  test("that declares tools but does not know the method has none, and it is said", async () => {
    const found = await serve(unknown).list();
    expect(found).toMatchObject({ tools: [], cut: expect.stringContaining("tools/list") });
  });

  test("whose era is only remembered may be another one by now: the error goes up", async () => {
    await expect(serve(unknown, { unproven: true }).list()).rejects.toMatchObject({ rpcCode: -32601 });
  });

  test("that fails otherwise fails the list", async () => {
    const { list } = serve(() => {
      throw new ToolCallError({ code: "TIMEOUT", what: "?" });
    });
    await expect(list()).rejects.toMatchObject({ code: "TIMEOUT" });
  });
});
