/** Ways around a policy, and what the audit log says about them: fallback servers, repairs, own tools, a changed file. */
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolportOptions } from "toolport";
import {
  type AuditEvent,
  type PolicyDocument,
  type PolicyOption,
  readPolicy,
  watchPolicy,
} from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

const ERAS = ["modern", "legacy"] as const;

const bank = () =>
  createTestServer({
    tools: {
      pay: {
        inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
        handler: ({ amount }: { amount: number }) => `sent ${amount}`,
      },
      peek: { handler: () => "a secret" },
    },
    resources: {
      "test://open": { name: "open", text: "open" },
      "test://secret": { name: "s", text: "a secret" },
    },
    prompts: { open: { handler: () => "open" }, secret: { handler: () => "a secret" } },
  } as never);

async function open(policy: PolicyDocument | PolicyOption, options: ToolportOptions) {
  const events: AuditEvent[] = [];
  const scene = await openGateway(options, {
    auth: false,
    policy: "rules" in policy ? await readPolicy(policy) : (policy as PolicyOption),
    audit: (event) => events.push(event),
  });
  const requests = (method: string) => events.filter((event) => event.method === method);
  return { scene, requests, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

describe.each(ERAS)("%s clients", (era) => {
  test.each([
    ["deny", false],
    ["approve", false],
    ["allow", true],
  ] as const)(
    "reach the fallback of an allowed server only if it is allowed too: %s",
    async (effect, hasRun) => {
      await using backup = bank();
      const mcpServers = {
        main: { url: "http://127.0.0.1:9/mcp", fallback: "backup" },
        backup: backup.memory(),
      };
      await using gateway = await open(
        { default: "allow", rules: [{ effect, server: "backup" }] },
        { mcpServers },
      );
      const client = await gateway.scene.client(era);
      const result = await client.callTool({ name: "main__pay", arguments: { amount: 1 } });
      expect(result.isError === true).toBe(!hasRun);
      expect(backup.calls).toHaveLength(hasRun ? 1 : 0);
    },
  );

  test("cannot have their arguments changed after the decision", async () => {
    await using upstream = bank();
    const rules: PolicyDocument = {
      default: "allow",
      rules: [{ effect: "deny", tool: "pay", args: { "/amount": { min: 100 } } }],
    };
    await using gateway = await open(rules, { mcpServers: { bank: upstream.memory() } });
    const client = await gateway.scene.client(era);
    for (const args of [{ amount: "5000" }, { amount: [5000] }, { Amount: 5000 }, { amount: "5 000" }])
      expect((await client.callTool({ name: "bank__pay", arguments: args as never })).isError).toBe(true);
    expect(upstream.calls).toEqual([]);
    expect((await client.callTool({ name: "bank__pay", arguments: { amount: 5 } })).isError).not.toBe(true);
    expect(
      gateway.requests("tools/call").map(({ outcome, server, tool }) => [outcome, server, tool]),
    ).toEqual([
      ["refused", "bank", "pay"],
      ["refused", "bank", "pay"],
      ["error", "bank", "pay"],
      ["error", "bank", "pay"],
      ["ok", "bank", "pay"],
    ]);
  });

  test("read and list only prompts and resources that are allowed, also by tools of the port", async () => {
    await using upstream = bank();
    const rules: PolicyDocument = {
      default: "allow",
      rules: [
        { effect: "deny", resource: "*secret*", reason: "Not for you" },
        { effect: "deny", prompt: "secret", reason: "Not for you" },
        { effect: "deny", tool: "peek" },
      ],
    };
    await using gateway = await open(rules, {
      mcpServers: { bank: upstream.memory() },
      resourcesAsTools: true,
      promptsAsTools: true,
    });
    const client = await gateway.scene.client(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      ...["get_prompt", "list_prompts", "list_resources", "read_resource"],
      "bank__pay",
    ]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["test://open"]);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["bank__open"]);
    await client.readResource({ uri: "test://open" });
    const attempts = [
      () => client.readResource({ uri: "test://secret" }),
      () => client.readResource({ uri: "toolport://bank/test%3A%2F%2Fsecret" }),
      () => client.getPrompt({ name: "bank__secret" }),
      () =>
        client.complete({
          ref: { type: "ref/prompt", name: "bank__secret" },
          argument: { name: "a", value: "" },
        }),
      () =>
        client.callTool({ name: "read_resource", arguments: { mcpServer: "bank", uri: "test://secret" } }),
      () => client.callTool({ name: "get_resource", arguments: { mcpServer: "bank", uri: "test://secret" } }),
      () => client.callTool({ name: "get_prompt", arguments: { mcpServer: "bank", name: "secret" } }),
      () => client.callTool({ name: "bank__peek", arguments: {} }),
    ];
    for (const attempt of attempts) {
      const answer = await attempt().catch((error: unknown) => error);
      expect(answer instanceof Error || (answer as { isError?: boolean }).isError).toBe(true);
      expect(JSON.stringify(answer)).not.toContain("a secret");
    }
    expect(gateway.requests("resources/read").map(({ outcome, tool }) => [outcome, tool])).toEqual([
      ["ok", "test://open"],
      ["refused", "test://secret"],
      ["refused", "test://secret"],
    ]);
    expect(gateway.requests("prompts/get")).toMatchObject([
      { outcome: "refused", server: "bank", tool: "secret" },
    ]);
  });

  test("learn that their lists changed when the policy file does", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolport-policy-"));
    try {
      const file = join(folder, "policy.json");
      const write = async (document: PolicyDocument) => {
        await writeFile(`${file}.new`, JSON.stringify(document));
        await rename(`${file}.new`, file);
      };
      await write({ default: "allow", rules: [] });
      await using upstream = bank();
      const policy = await watchPolicy(file, { pollMs: 10, logger: { info() {}, warn() {} } });
      await using gateway = await open(policy, { mcpServers: { bank: upstream.memory() } });
      let onChange = () => {};
      const changed = new Promise<void>((resolve) => {
        onChange = resolve;
      });
      const client = await gateway.scene.client(era, {
        listChanged: { tools: { onChanged: () => onChange() } },
      });
      expect((await client.listTools()).tools).toHaveLength(2);
      await write({ default: "allow", rules: [{ effect: "deny", tool: "peek" }] });
      await changed;
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["bank__pay"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
