/** Large results and long lists through a gateway: nothing is lost or added. */
import { createServer } from "node:http";
import type { CallInterceptor, ToolResult } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readPolicy } from "../src/policy/read-policy.js";
import { type GatewayScene, openGateway } from "./gateway-scene.js";

/** Characters of every length and everything that must be escaped. */
const LARGE = `${'große Antwort 🙂 "]}],\\ \n\u0001 '.repeat(4_000)}]`;
const inputSchema = { type: "object", properties: {} } as const;

const fillers = Array.from({ length: 450 }, (_, index) => [
  `tool_${String(index).padStart(3, "0")}`,
  { description: `Tool ${index}`, inputSchema, handler: () => "ok" },
]);

const result = {
  content: [
    { type: "text", text: LARGE },
    { type: "text", text: "second" },
  ],
  isError: false,
  _meta: { "example.com/own": [1, 2], "io.modelcontextprotocol/serverInfo": { name: "other", version: "0" } },
};

describe.each(["modern", "legacy"] as const)("a %s server", (era) => {
  let scene: GatewayScene;
  let closeServer: () => Promise<void>;
  beforeAll(async () => {
    const server = createTestServer({
      era,
      tools: {
        ...Object.fromEntries(fillers),
        large: { description: "Large", inputSchema, handler: () => result as never },
      },
    });
    const { url } = await server.http();
    closeServer = () => server.close();
    const policy = await readPolicy({
      default: "allow",
      rules: [{ effect: "deny", tool: ["tool_2*", "tool_3*", "tool_4*"] }],
    });
    scene = await openGateway({ mcpServers: { files: { url } } }, { auth: false, policy });
  });
  afterAll(async () => {
    await scene[Symbol.asyncDispose]();
    await closeServer();
  });

  it.each(["modern", "legacy"] as const)("sends a large result to a %s client as it was", async (of) => {
    const client = await scene.client(of);
    const got = await client.callTool({ name: "files__large", arguments: {} });
    expect(got.content).toEqual(result.content);
    expect(got._meta?.["example.com/own"]).toEqual([1, 2]);
    expect(JSON.stringify(got._meta)).not.toContain('"other"');
  });

  it("sends it by `fetch` as well", async () => {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const params = { name: "files__large", arguments: {} };
    const body = JSON.stringify({ jsonrpc: "2.0", id: "a", method: "tools/call", params });
    const response = await scene.gateway.fetch(new Request(scene.url, { method: "POST", headers, body }));
    const answer = (await response.json()) as { id: string; result: typeof result };
    expect(answer.id).toBe("a");
    expect(answer.result.content).toEqual(result.content);
  });

  it("offers no page without entries, if the policy hides the rest", async () => {
    const client = await scene.client("modern");
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor });
      expect(page.tools.length).toBeGreaterThan(0);
      names.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const shown = fillers.map(([name]) => name as string).filter((name) => !/^tool_[234]/.test(name));
    expect(names).toEqual(["files__large", ...shown.map((name) => `files__${name}`)]);
  });
});

const large = "x".repeat(100_000);

/** A gateway in front of one server that returns a large text, over stdio or HTTP. */
async function openLarge(via: "stdio" | "http", interceptor?: CallInterceptor): Promise<GatewayScene> {
  const server = createTestServer({ tools: { large: { inputSchema, handler: () => large } } });
  onTestFinished(() => server.close());
  const entry = via === "http" ? { url: (await server.http()).url } : (await server.stdio()).entry;
  const interceptors = interceptor === undefined ? [] : [interceptor];
  const scene = await openGateway({ mcpServers: { files: entry }, interceptors, maxResultBytes: 1_000_000 });
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return scene;
}

/** Paths of all getters and setters in a value. */
function accessorsIn(value: unknown, path = "result"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const fields = Object.getOwnPropertyDescriptors(value) as Record<PropertyKey, PropertyDescriptor>;
  return Reflect.ownKeys(fields).flatMap((key) => {
    const { get, set, value: member } = fields[key]!;
    const at = `${path}.${String(key)}`;
    return get !== undefined || set !== undefined ? [at] : accessorsIn(member, at);
  });
}

const textOf = async (scene: GatewayScene): Promise<unknown> => {
  const client = await scene.client("modern");
  const { content } = await client.callTool({ name: "files__large", arguments: {} });
  return (content as { text?: unknown }[])[0]?.text;
};

describe.each(["stdio", "http"] as const)("a large text over %s", (via) => {
  it("can be read by an interceptor", async () => {
    const seen: ToolResult[] = [];
    const scene = await openLarge(via, (next) => async (call) => {
      const result = await next(call);
      seen.push(result);
      return result;
    });
    expect(await textOf(scene)).toBe(large);
    expect(seen[0]?.text).toBe(large);
    expect({ ...seen[0]?.content[0] }).toEqual({ type: "text", text: large });
    expect(structuredClone(seen[0]?.content)).toEqual([{ type: "text", text: large }]);
  });

  it("is plain data for interceptors and callers: nothing has a getter", async () => {
    const seen: ToolResult[] = [];
    const scene = await openLarge(via, (next) => async (call) => {
      const result = await next(call);
      seen.push(result);
      return result;
    });
    await textOf(scene);
    seen.push(await scene.toolport.callTool("files__large"));
    expect(seen).toHaveLength(3);
    for (const result of seen) {
      expect(result).toMatchObject({ text: large, content: [{ type: "text", text: large }] });
      expect(accessorsIn(result)).toEqual([]);
      expect(Reflect.ownKeys(result.content)).toEqual(["0", "length"]);
      expect(Object.keys(result.content[0]!)).toEqual(["type", "text"]);
    }
  });

  it("can be replaced by an interceptor, by a copy or in place", async () => {
    const copied = await openLarge(via, (next) => async (call) => {
      const result = await next(call);
      return { ...result, content: [{ type: "text", text: `copy of ${result.text.length}` }] };
    });
    expect(await textOf(copied)).toBe("copy of 100000");
    const changed = await openLarge(via, (next) => async (call) => {
      const result = await next(call);
      Object.assign(result.content[0]!, { text: "changed" });
      return result;
    });
    expect(await textOf(changed)).toBe("changed");
  });
});

describe("a result that an interceptor changes besides its texts", () => {
  const parts = {
    content: [{ type: "text", text: large }],
    structuredContent: { secret: 1 },
    _meta: { a: 1 },
  };

  async function changed(change: (result: ToolResult) => ToolResult): Promise<Record<string, unknown>> {
    const server = createTestServer({ tools: { large: { inputSchema, handler: () => parts as never } } });
    onTestFinished(() => server.close());
    const { url } = await server.http();
    const interceptors: CallInterceptor[] = [(next) => async (call) => change(await next(call))];
    const scene = await openGateway({
      mcpServers: { files: { url } },
      interceptors,
      maxResultBytes: 1_000_000,
    });
    onTestFinished(() => scene[Symbol.asyncDispose]());
    return (await scene.client("legacy")).callTool({ name: "files__large", arguments: {} });
  }

  it("has its new fields", async () => {
    const got = await changed((result) => ({ ...result, isError: true }));
    expect(got).toMatchObject({ ...parts, isError: true });
    expect((await changed((result) => ({ ...result, _meta: { b: 2 } })))["_meta"]).toEqual({ b: 2 });
  });

  it("has no field that was removed", async () => {
    const got = await changed(({ structuredContent: _, _meta: __, ...rest }) => rest);
    expect(got).toEqual({ content: parts.content, isError: false });
  });
});

describe.each([
  ["iso-2022-jp", "\u001b"],
  ["shift_jis", "\u001c"],
])("a large text in %s", (charset, byte) => {
  it("is valid JSON, even if a byte of it is a control character", async () => {
    const content = [{ type: "text", text: `${large}?` }];
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "a", version: "1" },
      },
      "tools/list": { tools: [{ name: "large", inputSchema }] },
      "tools/call": { content },
    };
    const server = createServer(async (request, response) => {
      const { id, method } = JSON.parse((await request.toArray()).join("") || "{}");
      if (id === undefined) return void response.writeHead(request.method === "POST" ? 202 : 405).end();
      const answer =
        method in results ? { result: results[method] } : { error: { code: -32601, message: "no" } };
      const json = JSON.stringify({ jsonrpc: "2.0", id, ...answer }).replace("x?", `x${byte}`);
      response.writeHead(200, { "content-type": `application/json; charset=${charset}` }).end(json);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/`;
    const scene = await openGateway({ mcpServers: { files: { url } }, maxResultBytes: 1_000_000 });
    onTestFinished(() => scene[Symbol.asyncDispose]());
    const text = (await textOf(scene)) as string;
    expect(text.slice(0, -1)).toBe(large);
  });
});
