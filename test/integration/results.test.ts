/** The result of a tool call: complete, in one form, and within the size limit. */
import { createToolport, type ToolportOptions, type ToolResult } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";

const IMAGE = Buffer.alloc(3_000, 7).toString("base64");

const tools: Record<string, TestTool> = {
  mixed: {
    handler: () => ({
      content: [
        { type: "text", text: "first" },
        { type: "image", data: IMAGE, mimeType: "image/png" },
        { type: "resource_link", uri: "test://a", name: "a" },
        { type: "text", text: "second" },
      ],
      structuredContent: { n: 1 },
      _meta: { "example/cost": 3 },
    }),
  },
  fail: { handler: () => ({ content: [{ type: "text", text: "out of milk" }], isError: true }) },
  empty: { handler: () => ({ content: [] }) },
  long: { handler: ({ text }) => String(text) },
  rows: {
    handler: ({ count }) => ({
      structuredContent: { rows: Array.from({ length: Number(count) }, (_, row) => ({ row })) },
    }),
  },
};

function open(options: ToolportOptions = {}) {
  const server = createTestServer({ tools });
  const toolport = createToolport({ mcpServers: { s: server.memory() }, ...options });
  return {
    toolport,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

describe("a result", () => {
  test("has its text, content, structured content, _meta and the server that answered", async () => {
    await using scene = open();
    const result = await scene.toolport.callTool("s__mixed");
    expect(result).toMatchObject({
      text: "first\nsecond",
      structuredContent: { n: 1 },
      isError: false,
      _meta: { "example/cost": 3 },
      server: "s",
      attempts: 1,
    });
    expect(result.content.map(({ type }) => type)).toEqual(["text", "image", "resource_link", "text"]);
    expect(result.content[1]).toEqual({ type: "image", data: IMAGE, mimeType: "image/png" });
    expect(result.durationMs).toBeGreaterThan(0);
    expect(result.artifacts).toBeUndefined();
  });

  test("that reports failure is a result", async () => {
    await using scene = open();
    expect(await scene.toolport.callTool("s__fail")).toMatchObject({
      isError: true,
      text: "out of milk",
      server: "s",
    });
    expect(await scene.toolport.callTool("s__empty")).toMatchObject({
      isError: false,
      text: "",
      content: [],
    });
  });

  test("is not limited by default", async () => {
    await using scene = open();
    const text = "x".repeat(3_000_000);
    expect((await scene.toolport.callTool("s__long", { text })).text).toHaveLength(text.length);
  });
});

describe("maxResultBytes", () => {
  test("truncates with a mark, and splits no character", async () => {
    await using scene = open({ maxResultBytes: 101 });
    const result = await scene.toolport.callTool("s__long", { text: "ä".repeat(500) });
    const [note, kept] = result.content;
    expect(kept).toEqual({ type: "text", text: "ä".repeat(50) });
    expect(note).toEqual({ type: "text", text: expect.stringMatching(/^\[truncated: 100 of 1000 bytes\. /) });
    expect(result._meta?.["toolport/truncated"]).toEqual({ bytes: 100, totalBytes: 1_000 });
    expect(result.text).toContain("[truncated");
    const small = await scene.toolport.callTool("s__long", { text: "small" });
    expect(small).toMatchObject({ text: "small" });
    expect(small._meta?.["toolport/truncated"]).toBeUndefined();
  });

  test("omits an image or structured content that does not fit, with a note", async () => {
    await using scene = open({ maxResultBytes: { bytes: 1_000, mode: "truncate" } });
    const mixed = await scene.toolport.callTool("s__mixed");
    expect(mixed.content.map(({ type }) => type)).toEqual(["text", "text", "resource_link", "text"]);
    expect(mixed.structuredContent).toEqual({ n: 1 });
    const rows = await scene.toolport.callTool("s__rows", { count: 1_000 });
    expect(rows.structuredContent).toBeUndefined();
    expect(rows._meta?.["toolport/truncated"]).toMatchObject({ structuredBytes: expect.any(Number) });
  });

  test("spills a large result, and returns a handle for it", async () => {
    const spilled: [NonNullable<ToolResult["artifacts"]>[number], string][] = [];
    await using scene = open({
      maxResultBytes: {
        bytes: 1_000,
        mode: "spill",
        onSpill: async (artifact, call) => void spilled.push([artifact, call.tool.name]),
      },
    });
    const result = await scene.toolport.callTool("s__mixed");
    expect(result.artifacts).toHaveLength(1);
    const [artifact] = result.artifacts!;
    expect(artifact).toMatchObject({ type: "image", mimeType: "image/png", bytes: IMAGE.length });
    expect(await artifact!.read()).toEqual({ type: "image", data: IMAGE, mimeType: "image/png" });
    expect(result.content[1]).toMatchObject({ type: "text", text: expect.stringContaining(artifact!.id) });
    expect(result.structuredContent).toEqual({ n: 1 });
    expect(spilled).toEqual([[artifact, "s__mixed"]]);
    const rows = await scene.toolport.callTool("s__rows", { count: 1_000 });
    const table = rows.artifacts?.find(({ type }) => type === "structuredContent");
    expect(await table?.read()).toMatchObject({ structuredContent: { rows: expect.any(Array) } });
  });

  test("an onSpill that throws is reported, and the result is returned", async () => {
    const warnings: string[] = [];
    await using scene = open({
      maxResultBytes: {
        bytes: 1_000,
        mode: "spill",
        onSpill() {
          throw new Error("disk full");
        },
      },
    });
    scene.toolport.on("warning", ({ message }) => warnings.push(message));
    expect((await scene.toolport.callTool("s__mixed")).artifacts).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining("disk full")]);
  });
});
