/** Code mode in every adapter: the model searches, runs a program, and answers. */

import { estimateTokens } from "@toolport/base";
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { type LiveTurn, startModelDouble } from "./model-double.js";
import { LOOPS } from "./model-loops.js";

const ORDERS = Array.from({ length: 300 }, (_, id) => ({ id, customer: id % 10, total: id }));
const PROGRAM = `
const { orders } = await tools.shop.listOrders({ state: "open" });
console.log(orders.length, "orders");
return orders.reduce((sum, { total }) => sum + total, 0);`;

function openShop() {
  const server = createTestServer({
    tools: {
      list_orders: {
        description: "Lists the orders of a state",
        inputSchema: { type: "object", properties: { state: { type: "string" } }, required: ["state"] },
        outputSchema: {
          type: "object",
          properties: { orders: { type: "array", items: { type: "object" } } },
          required: ["orders"],
        },
        handler: () => ({ structuredContent: { orders: ORDERS }, content: [] }),
      },
      cancel_order: { description: "Cancels an order", handler: () => "cancelled" },
    },
  });
  const toolport = createToolport({ mcpServers: { shop: server.memory() } });
  const code = createCodeMode(toolport);
  return {
    toolport,
    code,
    server,
    async [Symbol.asyncDispose]() {
      await code.close();
      await toolport.close();
      await server.close();
    },
  };
}

describe.each(Object.entries(LOOPS))("%s", (_name, { run, results, names, problems }) => {
  test("search, execute, answer", async () => {
    await using shop = openShop();
    const execute: LiveTurn = (request) => {
      expect(results(request)[0]).toContain("listOrders(args:{ state:string }):Promise<{ orders:");
      return [{ name: "execute", args: { code: PROGRAM } }];
    };
    const answer: LiveTurn = (request) => {
      const { value, logs } = JSON.parse(results(request)[1]!) as { value: number; logs: string[] };
      return `${logs[0]}: ${value}`;
    };
    await using double = await startModelDouble([
      [{ name: "search", args: { query: "orders of a state" } }],
      execute,
      answer,
    ]);
    const { text } = await run(shop.code, double.url, "What is the total of the open orders?");
    expect(text).toBe("300 orders: 44850");
    const { requests } = double;
    expect(requests.flatMap(problems)).toEqual([]);
    for (const request of requests) expect(names(request)).toEqual(["search", "execute", "read_artifact"]);
    expect(estimateTokens(JSON.stringify(requests.at(-1)))).toBeLessThan(1_200);
  });
});

// One API with a field for failure, and one without.
describe.each(["OpenAI chat", "Gemini"])("%s", (name) => {
  const { run, results, problems } = LOOPS[name]!;

  test("an error that the model can mend", async () => {
    await using shop = openShop();
    const repaired: LiveTurn = (request) => {
      expect(results(request)[0]).toContain("tools.shop has: cancelOrder, listOrders");
      return [{ name: "execute", args: { code: "return (await tools.shop.cancelOrder({ id: 1 }))" } }];
    };
    await using double = await startModelDouble([
      [{ name: "execute", args: { code: "return (await tools.shop.listAll());" } }],
      repaired,
      (request) => (JSON.parse(results(request)[1]!) as { value: string }).value,
    ]);
    expect((await run(shop.code, double.url, "Cancel order 1")).text).toBe("cancelled");
    expect(double.requests.flatMap(problems)).toEqual([]);
  });
});

describe("callTool", () => {
  test("returns a result with structured content", async () => {
    await using shop = openShop();
    const result = await shop.code.callTool("execute", { code: "return { a: [1] }" });
    expect(result).toMatchObject({
      isError: false,
      server: "toolport",
      structuredContent: { value: { a: [1] }, calls: {} },
    });
    expect(JSON.parse(result.text)).toEqual(result.structuredContent);
  });

  test("reports what it cannot run to the model", async () => {
    await using shop = openShop();
    const failed = await shop.code.callTool("execute", { code: "return (;" });
    expect(failed).toMatchObject({ isError: true, text: expect.stringMatching(/^SyntaxError, line 1/) });
    expect(await shop.code.callTool("execute", {})).toMatchObject({
      isError: true,
      text: expect.stringContaining("code is missing"),
    });
    await expect(shop.code.callTool("shop__list_orders")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("timeoutMs limits the program", async () => {
    await using shop = openShop();
    const args = {
      code: "await new Promise(() => {}); return await tools.shop.listOrders({ state: 'open' })",
    };
    const { text, isError } = await shop.code.callTool("execute", args, { timeoutMs: 2_000 });
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining("Await only calls") });
  });

  test("search names functions of the filtered tools only", async () => {
    await using shop = openShop();
    await using code = createCodeMode(shop.toolport, { except: ["cancel_order"] });
    const { text } = await code.callTool("search", { query: "order", limit: 9 });
    expect(text).toContain("listOrders(");
    expect(text).not.toContain("cancelOrder");
    expect(await code.describe("order", { limit: 9 })).toBe(text);
  });

  test("read_artifact reads what was too large", async () => {
    await using shop = openShop();
    const run = LOOPS["OpenAI chat"]!;
    const big = 'return Array.from({ length: 3000 }, (_, id) => ({ id, text: "x".repeat(40) }))';
    const read: LiveTurn = (request) => {
      const [cut] = run.results(request);
      expect(estimateTokens(cut!)).toBeLessThan(600);
      const [, id] = /read_artifact with \{"id":"([\w-]+)"/.exec(cut!) ?? [];
      return [{ name: "read_artifact", args: { id, find: '"id":2999,', fields: ["id"] } }];
    };
    await using double = await startModelDouble([
      [{ name: "execute", args: { code: big } }],
      read,
      (request) => run.results(request)[1]!,
    ]);
    expect((await run.run(shop.code, double.url, "Which is the last?")).text).toContain('{"id":2999}');
  });
});

test("discovery: declare puts the declarations into the description", async () => {
  await using shop = openShop();
  await using code = createCodeMode(shop.toolport, { discovery: "declare" });
  const tools = await code.tools();
  expect(tools.map(({ name }) => name)).toEqual(["execute"]);
  expect(tools[0]?.description).toContain("listOrders(args:{ state:string })");
  await using small = createCodeMode(shop.toolport, { discovery: "declare", declareTokens: 10 });
  expect((await small.tools()).map(({ name }) => name)).toEqual(["search", "execute"]);
});

test.each([
  [{ discovery: "all" }, /discovery/],
  [{ declareTokens: -1 }, /declareTokens/],
])("refuses %j", async (options, message) => {
  await using toolport = createToolport({ mcpServers: {} });
  expect(() => createCodeMode(toolport, options as never)).toThrow(message);
});
