/** Results that are too large can be read in parts: by the same user, within limits, until the port is closed. */
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";

const ROWS = Array.from({ length: 1_000 }, (_, id) => ({ id, name: `Row ${id}` }));

function open(options: ToolportOptions = {}) {
  const server = createTestServer({
    tools: {
      rows: { handler: ({ owner = "shared" }) => JSON.stringify({ owner, rows: ROWS }) },
      read_artifact: { handler: () => "the tool of the server" },
    },
  });
  const toolport = createToolport({
    mcpServers: { s: server.memory() },
    prefix: false,
    maxResultBytes: { bytes: 1_000, mode: "truncate", read: true },
    ...options,
  });
  return {
    toolport,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

const idIn = (text: string): string => /"id":"([\w-]+)"/.exec(text)?.[1] ?? "none";

afterEach(() => {
  vi.useRealTimers();
});

describe("read_artifact", () => {
  test("is listed with `read` only, and can always be called", async () => {
    await using scene = open();
    const tools = await scene.toolport.tools();
    expect(tools.map(({ name }) => name)).toContain("read_artifact");
    expect(tools.find(({ name }) => name === "read_artifact")).toMatchObject({ server: "toolport" });
    expect((await scene.toolport.tools({ except: ["read_*"] })).map(({ name }) => name)).not.toContain(
      "read_artifact",
    );
    await using plain = open({ maxResultBytes: 1_000 });
    expect((await plain.toolport.tools()).map(({ server }) => server)).toEqual(["s", "s"]);
    expect(await plain.toolport.callTool("read_artifact", { id: "x" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("Call the tool that returned it again"),
    });
  });

  test("no tool of a server gets the name", async () => {
    await using scene = open();
    const theirs = (await scene.toolport.tools({ all: true })).find(
      ({ sourceName, server }) => server === "s" && sourceName === "read_artifact",
    );
    expect(theirs?.name).not.toBe("read_artifact");
    expect((await scene.toolport.callTool(theirs!.name)).text).toBe("the tool of the server");
  });

  test("reads what the note names", async () => {
    await using scene = open();
    const cut = await scene.toolport.callTool("rows");
    const page = await scene.toolport.callTool("read_artifact", { id: idIn(cut.text), from: 998 });
    expect(page.text).toBe(
      'Items 998 to 999 of 1000 of rows.\n[{"id":998,"name":"Row 998"},{"id":999,"name":"Row 999"}]',
    );
    expect(page).toMatchObject({ isError: false, server: "toolport" });
  });

  test("an answer is not cut again, also with a smaller limit", async () => {
    await using scene = open({ maxResultBytes: { bytes: 100, mode: "truncate", read: true } });
    const { text } = await scene.toolport.callTool("rows");
    const page = await scene.toolport.callTool("read_artifact", { id: idIn(text), count: 300 });
    expect(page.text).toContain("Items 0 to 299 of 1000");
    expect(page._meta).toBeUndefined();
  });

  test("spilled texts are read in the same way", async () => {
    await using scene = open({ maxResultBytes: { bytes: 1_000, mode: "spill", read: true } });
    const { text, artifacts } = await scene.toolport.callTool("rows");
    expect(artifacts?.[0]?.id).toBe(idIn(text));
    const page = await scene.toolport.callTool("read_artifact", { id: idIn(text), find: 'Row 77"' });
    expect(page.text).toContain("Below: item 77.");
  });
});

describe("users", () => {
  test("no user reads the artifacts of another, not even with the id", async () => {
    await using scene = open();
    const [ada, bob] = [scene.toolport.as("ada"), scene.toolport.as("bob")];
    const id = idIn((await ada.callTool("rows", { owner: "ada" })).text);
    expect((await ada.callTool("read_artifact", { id, fields: ["owner"] })).text).toContain('"ada"');
    for (const other of [bob, scene.toolport])
      expect(await other.callTool("read_artifact", { id })).toMatchObject({ isError: true });
  });

  test("an id that two users have is gone for one of them after close()", async () => {
    await using scene = open();
    const [ada, bob] = [scene.toolport.as("ada"), scene.toolport.as("bob")];
    const ids = await Promise.all([ada, bob].map(async (user) => idIn((await user.callTool("rows")).text)));
    expect(ids[0]).toBe(ids[1]);
    await ada.close();
    expect(await bob.callTool("read_artifact", { id: ids[0]! })).toMatchObject({ isError: false });
    expect(await scene.toolport.as("ada").callTool("read_artifact", { id: ids[0]! })).toMatchObject({
      isError: true,
    });
  });

  test("after close() nothing can be read", async () => {
    await using scene = open();
    const id = idIn((await scene.toolport.callTool("rows")).text);
    await scene.toolport.close();
    expect(await failure(scene.toolport.callTool("read_artifact", { id }))).toMatchObject({ code: "CLOSED" });
  });

  test("an artifact expires one hour after its last use", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    await using scene = open({ timeoutMs: Number.POSITIVE_INFINITY, maxTimeoutMs: Number.POSITIVE_INFINITY });
    const id = idIn((await scene.toolport.callTool("rows")).text);
    vi.advanceTimersByTime(3_599_999);
    expect((await scene.toolport.callTool("read_artifact", { id })).isError).toBe(false);
    vi.advanceTimersByTime(3_600_000);
    expect(await scene.toolport.callTool("read_artifact", { id })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/it has expired.*Call the tool that returned it again/),
    });
  });
});

describe("the option", () => {
  test.each<[string, unknown, string]>([
    ["a text", "100", "maxResultBytes"],
    ["0", 0, "maxResultBytes"],
    ["a fraction", 1.5, "maxResultBytes"],
    ["without bytes", { mode: "truncate" }, "maxResultBytes.bytes"],
    ["without a mode", { bytes: 100 }, "maxResultBytes.mode"],
    ["an unknown mode", { bytes: 100, mode: "cut" }, "maxResultBytes.mode"],
    [
      "a limit that is no number",
      { bytes: 100, mode: "truncate", tools: { "a__*": "many" } },
      'maxResultBytes.tools["a__*"]',
    ],
    ["limits that are no object", { bytes: 100, mode: "truncate", tools: ["a"] }, "maxResultBytes.tools"],
    ["read: 1", { bytes: 100, mode: "truncate", read: 1 }, "maxResultBytes.read"],
    ["onSpill: true", { bytes: 100, mode: "spill", onSpill: true }, "maxResultBytes.onSpill"],
    ["an unknown field", { bytes: 100, mode: "truncate", reads: true }, "maxResultBytes.reads"],
  ])("%s is refused, by name", (_name, maxResultBytes, path) => {
    const create = () => createToolport({ maxResultBytes: maxResultBytes as number });
    expect(create).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
    expect(create).toThrow(path);
  });

  test("Infinity and numbers are accepted", async () => {
    for (const maxResultBytes of [
      Number.POSITIVE_INFINITY,
      1,
      { bytes: Number.POSITIVE_INFINITY, mode: "spill" } as const,
    ])
      await createToolport({ maxResultBytes }).close();
  });
});
