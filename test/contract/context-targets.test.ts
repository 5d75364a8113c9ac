/** The targets of docs/context.md that need no tokenizer, for the tools of 20 real servers in real ports. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, describe, expect, it } from "vitest";
import { collectedServers } from "../support/definitions.js";

const MAX_SHOWN = 400;
const MAX_ERROR = 0.15;

const servers = Object.fromEntries(
  Object.entries(collectedServers).map(([name, { tools }]) => [
    name,
    createTestServer({
      tools: Object.fromEntries(
        tools.map(({ name: tool, tokens: _tokens, ...definition }) => [
          tool,
          { ...definition, handler: () => "called" },
        ]),
      ),
    }),
  ]),
);
const ports: Toolport[] = [];
afterAll(async () => {
  await Promise.all(ports.map((port) => port.close()));
  await Promise.all(Object.values(servers).map((server) => server.close()));
});

function open(names: readonly string[], options: ToolportOptions = {}): Toolport {
  const mcpServers = Object.fromEntries(names.map((name) => [name, servers[name]!.memory()]));
  const port = createToolport({ mcpServers, ...options });
  ports.push(port);
  return port;
}

const all = Object.keys(servers);
const tools = Object.values(collectedServers).flatMap((server) => server.tools);

describe("cost()", () => {
  it("is within 15 % of o200k for 9 of 10 tools, and within 5 % for all together", async () => {
    const ratios: number[] = [];
    let [estimated, real] = [0, 0];
    // Without a prefix, as the tokens were counted. One port a server, because names repeat.
    for (const name of all) {
      const { tools: costs } = await open([name], { prefix: false }).cost();
      for (const { name: tool, tokens } of collectedServers[name]!.tools) {
        const cost = costs.find((each) => each.name === tool);
        if (cost === undefined) continue;
        ratios.push(cost.tokens / tokens);
        estimated += cost.tokens;
        real += tokens;
      }
    }
    expect(ratios.length).toBeGreaterThan(tools.length * 0.99);
    const near = ratios.filter((ratio) => Math.abs(ratio - 1) <= MAX_ERROR);
    expect(near.length / ratios.length).toBeGreaterThan(0.9);
    expect(Math.abs(estimated / real - 1)).toBeLessThan(0.05);
  });
});

describe("deferTools", () => {
  it("shows at most 400 tokens instead of all", async () => {
    const { tokens, shown } = await open(all, { deferTools: true }).cost();
    expect(tokens).toBeGreaterThan(100_000);
    expect(shown).toBeLessThanOrEqual(MAX_SHOWN);
  });

  it("defers by size: this corpus, but not one small server of it", async () => {
    const deferTools = { mode: "auto" } as const;
    expect((await open(all, { deferTools }).cost()).shown).toBeLessThanOrEqual(MAX_SHOWN);
    const { tokens, shown } = await open(["memory"], { deferTools }).cost();
    expect(shown).toBe(tokens);
  });

  it("finds and calls a tool of each server by its exact name", async () => {
    const port = open(all, { deferTools: true });
    const hidden = await port.tools({ deferred: true });
    for (const server of all) {
      const tool = hidden.find((each) => each.server === server)!;
      const { text } = await port.callTool("search_tools", { query: tool.name, limit: 1 });
      const [found] = JSON.parse(text).tools;
      expect(found.name).toBe(tool.name);
      expect(found.inputSchema.type).toBe("object");
    }
    const { text } = await port.callTool("call_tool", { name: "memory__read_graph", arguments: {} });
    expect(text).toBe("called");
  });
});
