/** What the policy and filters hide is named neither in instructions nor in suggestions. */
import { type GatewayOptions, type PolicyDocument, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

const serverOf = (name: string) =>
  createTestServer({
    instructions: `How to use ${name}`,
    tools: { delete_order: { handler: () => "deleted" }, list_orders: { handler: () => "none" } },
    prompts: { plan: { get: () => "a plan" } },
    resources: { [`${name}://terms`]: { text: "terms" } },
  });

async function open(options: Omit<GatewayOptions, "auth">, deferTools = false) {
  const servers = { shop: serverOf("shop"), vault: serverOf("vault") };
  const mcpServers = { shop: servers.shop.memory(), vault: servers.vault.memory() };
  const scene = await openGateway({ mcpServers, ...(deferTools && { deferTools: true }) }, {
    auth: false,
    ...options,
  } as GatewayOptions);
  return {
    scene,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]();
      await Promise.all(Object.values(servers).map((server) => server.close()));
    },
  };
}

const rules = async (document: PolicyDocument): Promise<Omit<GatewayOptions, "auth">> => ({
  policy: await readPolicy(document),
});

const ERAS = ["modern", "legacy"] as const;

describe.each(ERAS)("instructions for %s clients", (era) => {
  test.each<[string, () => Promise<Omit<GatewayOptions, "auth">>, boolean]>([
    ["no rule denies it", () => rules({ default: "allow", rules: [] }), true],
    [
      "a rule denies the server",
      () => rules({ default: "allow", rules: [{ effect: "deny", server: "vault" }] }),
      false,
    ],
    [
      "nothing of it is allowed",
      () => rules({ default: "deny", rules: [{ effect: "allow", server: "shop" }] }),
      false,
    ],
    [
      "one of its tools is allowed",
      () =>
        rules({
          default: "deny",
          rules: [
            { effect: "allow", server: "shop" },
            { effect: "approve", server: "vault", tool: "list_*" },
            { effect: "deny", server: "vault" },
          ],
        }),
      true,
    ],
    [
      "some of its tools are denied",
      () => rules({ default: "allow", rules: [{ effect: "deny", server: "vault", tool: "*" }] }),
      true,
    ],
    [
      "another user is denied",
      () => rules({ default: "allow", rules: [{ effect: "deny", server: "vault", user: "bob" }] }),
      true,
    ],
    ["an engine decides", async () => ({ policy: ({ tool }) => tool?.startsWith("list_") === true }), true],
    ["`servers` leaves it out", async () => ({ servers: () => ["shop"] }), false],
    ["filters leave out its tools", async () => ({ only: ["shop.*"] }), true],
  ])("%s", async (_title, options, isShown) => {
    await using gateway = await open(await options());
    // Connects the servers.
    await (await gateway.scene.client(era)).listTools();
    const instructions = (await gateway.scene.client(era)).getInstructions();
    expect(instructions).toContain("How to use shop");
    expect(instructions?.includes("vault")).toBe(isShown);
  });
});

describe.each(ERAS)("suggestions for %s clients", (era) => {
  const failure = async (options: Omit<GatewayOptions, "auth">, name: string, deferTools = false) => {
    await using gateway = await open(options, deferTools);
    const client = await gateway.scene.client(era);
    await client.listTools();
    const call = deferTools
      ? { name: "call_tool", arguments: { name, arguments: {} } }
      : { name, arguments: {} };
    const answer = await client.callTool(call).catch((error: unknown) => error as Error & { data?: unknown });
    return answer instanceof Error ? JSON.stringify([answer.message, answer.data]) : JSON.stringify(answer);
  };
  const HIDDEN: PolicyDocument = { default: "allow", rules: [{ effect: "deny", tool: "delete_*" }] };

  test.each<[string, () => Promise<Omit<GatewayOptions, "auth">>]>([
    ["the policy", () => rules(HIDDEN)],
    ["an engine", async () => ({ policy: ({ tool }) => !tool?.startsWith("delete_") })],
    ["a filter", async () => ({ except: ["delete_*"] })],
  ])("leave out what %s hides", async (_title, options) => {
    for (const deferTools of [false, true]) {
      const hidden = await failure(await options(), "shop__delete_orde", deferTools);
      expect(hidden).toContain("There is no tool named");
      expect(hidden).not.toContain("Did you mean");
      expect(hidden).not.toContain("delete_order");
      expect(await failure(await options(), "shop__list_order", deferTools)).toContain(
        "Did you mean shop__list_orders",
      );
    }
  });

  test("leave out servers that the user does not see", async () => {
    const text = await failure({ servers: () => ["shop"] }, "vault__list_order");
    expect(text).not.toContain("vault__list_orders");
  });
});
