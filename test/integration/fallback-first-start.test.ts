/** A primary that is down at the first start was never listed: its fallback's tools are offered under its name. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createToolport, type ServerEntry, type ToolportOptions } from "toolport";
import { createTestServer, type TestServerDefinition, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

/** A port of this machine on which nothing listens. */
async function freePort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  return port;
}

interface SceneOptions extends Pick<ToolportOptions, "prefix" | "filter" | "beforeFallback" | "approve"> {
  readonly main?: Partial<ServerEntry>;
  readonly spare?: Partial<ServerEntry>;
  readonly tools?: Record<string, TestTool>;
  readonly more?: Record<string, ServerEntry>;
}

const answers = (text: string): TestTool => ({ description: `${text}'s`, handler: () => text });

/** `main` is down from the start and can be started; `spare` runs. */
async function scene({ main = {}, spare = {}, tools, more, ...options }: SceneOptions = {}) {
  const port = await freePort();
  const spareServer = createTestServer({ tools: tools ?? { ask: answers("spare") } });
  const spareHttp = await spareServer.http();
  let mainServer: ReturnType<typeof createTestServer> | undefined;
  const entry = { url: `http://127.0.0.1:${port}/mcp`, fallback: "spare", reconnect: { delayMs: 30 } };
  const toolport = createToolport({
    mcpServers: {
      main: { ...entry, ...main } as ServerEntry,
      spare: { ...spareHttp.entry, ...spare } as ServerEntry,
      ...more,
    },
    ...options,
  });
  return {
    toolport,
    spare: spareServer,
    names: async (servers?: string[]) => (await toolport.tools({ servers })).map(({ name }) => name),
    async start(definition: TestServerDefinition = { tools: { ask: answers("main") } }) {
      mainServer = createTestServer(definition);
      await mainServer.http({ port });
      return mainServer;
    },
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all([spareServer.close(), mainServer?.close()]);
    },
  };
}

test("the fallback answers a call, although nothing was listed before", async () => {
  const asked: unknown[] = [];
  await using down = await scene({
    beforeFallback: ({ server, next, error, outcome }) => {
      asked.push([server.name, next.name, error.code, outcome]);
    },
  });
  expect(await down.toolport.callTool("main__ask")).toMatchObject({ text: "spare", server: "spare" });
  expect(asked).toEqual([["main", "spare", "UNREACHABLE", "unsent"]]);
  expect(down.spare.calls).toHaveLength(1);
});

test("tools() offers the fallback's tools under the primary's name, with the server that defined them", async () => {
  await using down = await scene();
  expect(await down.names()).toEqual(["main__ask", "spare__ask"]);
  const [tool] = await down.toolport.tools();
  expect(tool).toMatchObject({ server: "main", sourceName: "ask", definedBy: "spare" });
  expect((await down.toolport.callTool("main__ask")).server).toBe("spare");
});

test("tools({ servers }) of the primary alone includes the fallback's tools", async () => {
  await using down = await scene();
  expect(await down.names(["main"])).toEqual(["main__ask"]);
  // As the guide shows: the fallback's own tools are not listed for a model, and still answer.
  expect((await down.toolport.callTool("main__ask")).server).toBe("spare");
  await down.start();
  await down.toolport.connectServer("main");
  expect(await down.names(["main"])).toEqual(["main__ask"]);
  expect((await down.toolport.callTool("main__ask")).server).toBe("main");
});

test("without a prefix the primary keeps the bare name, now and when it is back", async () => {
  await using down = await scene({ prefix: false });
  expect((await down.names())[0]).toBe("ask");
  expect((await down.toolport.callTool("ask")).server).toBe("spare");
  await down.start();
  await down.toolport.connectServer("main");
  expect((await down.names())[0]).toBe("ask");
  expect((await down.toolport.callTool("ask")).server).toBe("main");
});

test("a primary that comes back is used again, with its own definition", async () => {
  await using down = await scene();
  await down.toolport.tools();
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
  const main = await down.start({ tools: { ask: { inputSchema: schema, handler: () => "main" } } });
  // The first call finds it disconnected and starts the reconnect.
  await waitFor(async () => (await down.toolport.callTool("main__ask", { city: "Oslo" })).server === "main");
  const [tool] = await down.toolport.tools({ servers: ["main"] });
  expect(tool?.definedBy).toBeUndefined();
  expect(tool?.inputSchema).toMatchObject({ required: ["city"] });
  expect(await failure(down.toolport.callTool("main__ask"))).toMatchObject({ code: "INVALID_ARGUMENTS" });
  expect(main.calls.length).toBeGreaterThan(0);
});

test("a tool with another name on the fallback is offered under the primary's name for it", async () => {
  await using down = await scene({
    main: { fallback: { servers: ["spare"], tools: { forecast: "ask", tomorrow: "ask" } } },
    tools: { ask: answers("spare"), other: answers("other") },
  });
  expect(await down.names(["main"])).toEqual(["main__forecast", "main__tomorrow", "main__other"]);
  expect((await down.toolport.callTool("main__forecast")).text).toBe("spare");
  expect(down.spare.calls).toMatchObject([{ name: "ask" }]);
});

test("filters of both servers and of the port apply", async () => {
  const tools = {
    ask: answers("spare"),
    drop: answers("spare"),
    wipe: answers("spare"),
    hush: answers("spare"),
  };
  await using down = await scene({
    tools,
    main: { except: ["drop"] },
    spare: { except: ["wipe"] },
    filter: (_server, tool) => tool.name !== "hush",
  });
  expect(await down.names(["main"])).toEqual(["main__ask"]);
  for (const name of ["main__drop", "main__wipe", "main__hush"]) {
    expect(await failure(down.toolport.callTool(name))).toMatchObject({ outcome: "unsent" });
  }
  expect(down.spare.calls).toEqual([]);
});

test("a tool that no fallback has fails with the primary's own error", async () => {
  await using down = await scene();
  expect(await failure(down.toolport.callTool("main__other"))).toMatchObject({
    code: "UNREACHABLE",
    server: "main",
  });
});

test("a primary that needs a login keeps its error: no fallback tools are offered", async () => {
  const guard = createServer((_request, response) => void response.writeHead(401).end());
  await new Promise<void>((resolve) => guard.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(guard.address() as AddressInfo).port}/mcp`;
  try {
    await using down = await scene({ main: { url } as Partial<ServerEntry> });
    expect(await down.names()).toEqual(["spare__ask"]);
    expect(await failure(down.toolport.callTool("main__ask"))).toMatchObject({ name: "AuthError" });
    expect(down.spare.calls).toEqual([]);
  } finally {
    await new Promise((resolve) => guard.close(resolve));
  }
});

test("hints of an untrusted fallback do not count, even if the primary is trusted", async () => {
  let asked = 0;
  await using down = await scene({
    main: { trustAnnotations: true },
    tools: { ask: { ...answers("spare"), annotations: { readOnlyHint: true } } },
    approve: () => {
      asked += 1;
      return true;
    },
  });
  await down.toolport.callTool("main__ask");
  expect(asked).toBe(1);
});

test("several fallbacks: each tool comes from the first that has it", async () => {
  await using second = createTestServer({ tools: { ask: answers("second"), more: answers("second") } });
  await using down = await scene({
    main: { fallback: ["spare", "second"] },
    more: { second: second.memory() },
  });
  const offered = await down.toolport.tools({ servers: ["main"] });
  expect(offered.map(({ name, definedBy }) => [name, definedBy])).toEqual([
    ["main__ask", "spare"],
    ["main__more", "second"],
  ]);
  expect((await down.toolport.callTool("main__more")).server).toBe("second");
});

test("a call does not wait for an unrelated slow server", async () => {
  await using hung = createTestServer({ tools: { ask: answers("hung") } });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const http = await hung.http({ intercept: () => released.then(() => undefined) });
  await using down = await scene({ more: { hung: http.entry } });
  expect((await down.toolport.callTool("main__ask")).server).toBe("spare");
  release();
});
