/** Reading a tool list: pages, endless lists, invalid entries. */

import { ToolCallError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import type { ChannelRequestOptions } from "../protocol/request-channel.js";
import type { Session } from "../protocol/session.js";
import { readList } from "./server-lists.js";
import type { ToolList } from "./source-tool.js";

type Page = Record<string, unknown>;

const inputSchema = { type: "object" };
const tool = (name: unknown, more: Page = {}) => ({ name, inputSchema, ...more });

/** The part of a session that reading a list needs. */
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
  const list = async () => {
    const { list } = await readList(session, "tools", { timeoutMs: 1_000, onWarning() {} });
    return list as ToolList;
  };
  return { asked, list };
}

const names = (list: ToolList) => list.tools.map(({ sourceName }) => sourceName);

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

  test("treats an empty string as a cursor, but not null", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [], nextCursor: page === 1 ? "" : null }));
    expect((await list()).cut).toBeUndefined();
    expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, ""]);
  });

  test("truncates a list of a million entries, and stops at an invalid page", async () => {
    const many = serve(() => ({ tools: Array.from({ length: 1_000_000 }, () => 0) }));
    const found = await many.list();
    expect(found.withheld).toHaveLength(10_000);
    expect(found.cut).toContain("more than 10000 entries");
    const none = serve(() => ({ tools: "none" }));
    expect((await none.list()).cut).toContain("without its list of tools");
  });

  test("stops at a repeated cursor, and reports it", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [tool(`t${page}`)], nextCursor: "again" }));
    const found = await list();
    expect(found.cut).toContain("same cursor");
    expect(names(found)).toEqual(["t1", "t2"]);
    expect(asked).toHaveLength(2);
  });

  test("detects a cycle of cursors", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [], nextCursor: `c${page % 3}` }));
    expect((await list()).cut).toContain("same cursor");
    expect(asked).toHaveLength(4);
  });

  test("reads at most 64 pages", async () => {
    const { list, asked } = serve((_cursor, page) => ({ tools: [tool(`t${page}`)], nextCursor: `c${page}` }));
    const found = await list();
    expect(found.cut).toContain("64 pages");
    expect(asked).toHaveLength(64);
    expect(found.tools).toHaveLength(64);
  });

  test.each([5, {}, [], true])("stops at the cursor %j, and reports it", async (nextCursor) => {
    const { list } = serve(() => ({ tools: [tool("one")], nextCursor }));
    const found = await list();
    expect(found.cut).toContain("not text");
    expect(names(found)).toEqual(["one"]);
  });

  test("share one time limit", async () => {
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
  ])("withholds only %j, with a reason", async (entry, reason) => {
    const { list } = serve(() => ({ tools: [tool("before"), entry, tool("after")] }));
    const found = await list();
    expect(names(found)).toEqual(["before", "after"]);
    expect(found.withheld).toEqual([{ name: expect.any(String), reason: expect.stringContaining(reason) }]);
  });

  test("a name listed twice counts once, even on another page", async () => {
    const { list } = serve((_cursor, page) => ({
      tools: [tool("same", { description: `page ${page}` })],
      ...(page === 1 && { nextCursor: "c" }),
    }));
    const found = await list();
    expect(found.tools).toMatchObject([{ sourceName: "same", description: "page 1" }]);
    expect(found.withheld).toEqual([{ name: "same", reason: "Listed twice" }]);
  });

  test("fields of the wrong type are left out, the tool stays", async () => {
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

  test.each([undefined, null, "x", {}])("tools: %j is an empty list with a reason", async (tools) => {
    const { list } = serve(() => ({ tools }));
    expect(await list()).toMatchObject({ tools: [], withheld: [], cut: expect.stringContaining("tools") });
  });

  test("invalid header declarations withhold a tool only if headers are sent", async () => {
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
  test("without the capability gets no request", async () => {
    const { list, asked } = serve(() => ({ tools: [tool("x")] }), { capabilities: {} });
    expect(await list()).toEqual({ tools: [], withheld: [] });
    expect(asked).toEqual([]);
  });

  const unknown = () => {
    throw new ToolCallError({ code: "PROTOCOL", what: "?", rpcCode: -32601 });
  };

  test("that declares tools but does not support the method has none, with a reason", async () => {
    const found = await serve(unknown).list();
    expect(found).toMatchObject({ tools: [], cut: expect.stringContaining("tools/list") });
  });

  test("whose era is remembered may have changed it: the error is thrown", async () => {
    await expect(serve(unknown, { unproven: true }).list()).rejects.toMatchObject({ rpcCode: -32601 });
  });

  test("that fails with another error rejects the list", async () => {
    const { list } = serve(() => {
      throw new ToolCallError({ code: "TIMEOUT", what: "?" });
    });
    await expect(list()).rejects.toMatchObject({ code: "TIMEOUT" });
  });
});
