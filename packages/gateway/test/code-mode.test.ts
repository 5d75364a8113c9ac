/** Code mode at a gateway: clients of both eras send programs, and the policy and the audit log apply to each call of them. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { AuditEvent, GatewayOptions } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { watchThreads } from "../../../test/support/watch-threads.js";
import { readPolicy } from "../src/policy/read-policy.js";
import { MODERN, openGateway } from "./gateway-scene.js";

const shop = () =>
  createTestServer({
    tools: {
      list_orders: {
        handler: () => ({ structuredContent: { orders: [{ id: 1, customer: "a" }] }, content: [] }),
      },
      delete_order: { handler: () => "deleted" },
    },
    prompts: { plan: { get: () => "a plan" } },
    resources: { "shop://terms": { text: "the terms" } },
  });
const people = () =>
  createTestServer({
    tools: {
      find: {
        handler: ({ id }) => `Ada (${String(id)})`,
      },
    },
  });

const JOIN = `
  const { orders } = await tools.shop.listOrders({});
  return Promise.all(orders.map(async (order) => [order.id, await tools.people.find({ id: order.customer })]));
`;

type CallResult = { isError?: boolean; content: unknown; structuredContent?: unknown };

const execute = (client: Client, code: string, options = {}): Promise<CallResult> =>
  client.callTool({ name: "execute", arguments: { code } }, options) as Promise<CallResult>;
const textOf = ({ content }: CallResult): string =>
  (content as { text?: string }[]).map(({ text = "" }) => text).join("\n");

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** An audit log in memory: the tool and the outcome of each call. */
function auditLog() {
  const events: AuditEvent[] = [];
  return {
    audit: (event: AuditEvent) => void events.push(event),
    calls: () =>
      events
        .filter(({ method }) => method === "tools/call")
        .map(({ server = "-", tool, outcome }) => `${server} ${tool} ${outcome}`),
  };
}

describe.each(["modern", "legacy"] as const)("a %s client", (era) => {
  it("lists search and execute only, and joins two servers in a program; each call is audited", async () => {
    await using orders = shop();
    await using users = people();
    const log = auditLog();
    await using scene = await openGateway(
      { mcpServers: { shop: orders.memory(), people: users.memory() } },
      { auth: false, code: true, audit: log.audit },
    );
    const client = await scene.client(era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["execute", "search"]);
    expect(tools[1]!.description).toContain("people, shop");
    const found = await client.callTool({ name: "search", arguments: { query: "orders" } });
    expect(textOf(found as CallResult)).toContain("listOrders(");
    const reports: unknown[] = [];
    const onprogress = ({ message }: { message?: string }) => void reports.push(message);
    const result = await execute(client, JOIN, { onprogress });
    expect(result.structuredContent, textOf(result)).toEqual({
      value: [[1, "Ada (a)"]],
      calls: { shop__list_orders: 1, people__find: 1 },
    });
    expect(reports).toEqual(["shop__list_orders", "people__find"]);
    expect(log.calls()).toEqual(["- search ok", "shop list_orders ok", "people find ok", "- execute ok"]);
    // No way around: tools of servers are not called directly.
    await expect(client.callTool({ name: "shop__list_orders", arguments: {} })).rejects.toThrow(
      "Unknown tool: shop__list_orders",
    );
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["shop__plan"]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["shop://terms"]);
  });

  it("cannot call what the policy hides or denies, and the refusal is audited", async () => {
    await using orders = shop();
    const log = auditLog();
    const policy = await readPolicy({
      default: "allow",
      rules: [
        { effect: "deny", tool: "list_orders" },
        { effect: "deny", tool: "delete_order", args: { "/id": { equals: 7 } }, reason: "order 7 stays" },
      ],
    });
    await using scene = await openGateway(
      { mcpServers: { shop: orders.memory() } },
      { auth: false, code: true, policy, audit: log.audit },
    );
    const client = await scene.client(era);
    const hidden = await execute(client, "return tools.shop.listOrders({})");
    expect(hidden.isError).toBe(true);
    expect(textOf(hidden)).toContain("deleteOrder");
    const denied = await execute(
      client,
      `try { return await tools.shop.deleteOrder({ id: 7 }) } catch ({ code, message }) { return { code, message } }`,
    );
    expect(denied.structuredContent).toMatchObject({
      value: { code: "REFUSED", message: expect.stringContaining("order 7 stays") },
    });
    expect(orders.calls).toEqual([]);
    expect(log.calls()).toEqual(["- execute error", "shop delete_order refused", "- execute ok"]);
  });

  it("is asked by the policy while its program waits", async () => {
    await using orders = shop();
    const log = auditLog();
    const policy = await readPolicy({
      default: "allow",
      rules: [{ effect: "approve", tool: "delete_order" }],
    });
    await using scene = await openGateway(
      { mcpServers: { shop: orders.memory() } },
      { auth: false, code: true, policy, audit: log.audit },
    );
    const client = await scene.client(era, { capabilities: { elicitation: { form: {} } } });
    const questions: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      questions.push(params.message);
      return { action: "accept", content: { allow: true } };
    });
    const result = await execute(
      client,
      "const { orders } = await tools.shop.listOrders({}); return tools.shop.deleteOrder({ id: orders[0].id })",
    );
    expect(result.structuredContent).toMatchObject({ value: "deleted" });
    expect(questions).toEqual([expect.stringContaining("Allow shop__delete_order")]);
    // The program ran once.
    expect(orders.calls.map(({ name }) => name)).toEqual(["list_orders", "delete_order"]);
    expect(log.calls().filter((call) => call.startsWith("shop"))).toEqual([
      "shop list_orders ok",
      "shop delete_order ok",
    ]);
  });

  it("cancels the calls of a program with execute", async () => {
    const started = deferred();
    const aborted = deferred();
    await using server = createTestServer({
      tools: {
        wait: {
          handler: (_args, { signal }) =>
            new Promise<string>((_resolve, reject) => {
              signal.addEventListener("abort", () => {
                aborted.resolve();
                reject(signal.reason);
              });
              started.resolve();
            }),
        },
      },
    });
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth: false, code: true },
    );
    const client = await scene.client(era);
    const abort = new AbortController();
    const calling = execute(client, "return tools.s.wait({})", { signal: abort.signal });
    const failed = expect(calling).rejects.toThrow();
    await started.promise;
    abort.abort();
    await aborted.promise;
    await failed;
  });
});

it("two users have separate results; close() leaves no thread", async () => {
  const threads = watchThreads();
  {
    await using orders = shop();
    const options: GatewayOptions = {
      code: true,
      policy: await readPolicy({
        default: "deny",
        rules: [
          { effect: "allow", tool: "list_orders", user: "ada" },
          { effect: "allow", tool: "read_artifact" },
        ],
      }),
      auth: {
        verify: (request) => ({
          principal: request.headers.get("authorization")!.slice("Bearer ".length),
          scopes: [],
        }),
      },
    };
    await using scene = await openGateway(
      { mcpServers: { shop: orders.memory() }, maxResultBytes: { bytes: 20, mode: "truncate", read: true } },
      options,
    );
    const connect = async (user: string) => {
      const client = new Client({ name: user, version: "1" }, { versionNegotiation: { mode: MODERN } });
      const headers = { authorization: `Bearer ${user}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(scene.url), { requestInit: { headers } }),
      );
      return client;
    };
    const [ada, bob] = await Promise.all([connect("ada"), connect("bob")]);
    const cut = await execute(ada!, "globalThis.kept = 1; return tools.shop.listOrders({})");
    const id = /\\?"id\\?":\\?"([\w-]+)/.exec(textOf(cut))?.[1];
    const read = `return tools.toolport.readArtifact({ id: ${JSON.stringify(id)} })`;
    expect(textOf(await execute(ada!, read))).toContain("customer");
    const other = await execute(bob!, read);
    expect(other.isError).toBe(true);
    expect(textOf(other)).not.toContain("customer");
    const peek = await execute(bob!, "return [typeof globalThis.kept, typeof tools.shop]");
    expect(textOf(peek)).not.toContain("number");
    await Promise.all([ada, bob].map((client) => client!.close()));
  }
  threads.stop();
  expect(threads.started).toBeGreaterThan(0);
  expect(threads.alive()).toBe(0);
});

it("wrong options are reported when the gateway starts", async () => {
  await using orders = shop();
  await using scene = await openGateway(
    { mcpServers: { shop: orders.memory() } },
    { auth: false, code: { limits: { calls: 0 } } },
  );
  await expect(scene.gateway.ready()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
});
