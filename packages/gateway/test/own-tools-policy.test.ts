/** Tools of the port itself that read resources and prompts: the policy decides about what they show and read. */
import type { Client } from "@modelcontextprotocol/client";
import {
  type AuditEvent,
  type PolicyDecision,
  type PolicyDocument,
  type PolicyRequest,
  readPolicy,
} from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import type { ResourcesAsToolsOption } from "../../core/src/port/own-tools/own-tools.js";
import { openAttackScene } from "./attack-scene.js";
import { openGateway } from "./gateway-scene.js";

const library = () =>
  createTestServer({
    resources: {
      "test://open": { name: "open", text: "an open text" },
      "test://secret": { name: "secret", text: "a hidden text" },
    },
    resourceTemplates: {
      "test://secret/{page}": {
        name: "pages",
        read: (uri) => (uri.startsWith("test://secret/") ? "a hidden page" : undefined),
      },
    },
    prompts: {
      open: { get: () => "an open prompt" },
      secret: { get: () => "a hidden prompt" },
      letter: {
        arguments: [{ name: "to", required: true }],
        get: ({ to }) => `Dear ${to}`,
      },
    },
  });

const HIDDEN: PolicyDocument = {
  default: "allow",
  rules: [
    { effect: "deny", resource: "*secret*", reason: "Not for you" },
    { effect: "deny", prompt: "secret", reason: "Not for you" },
    { effect: "deny", prompt: "letter", args: { "/to": "boss" } },
    { effect: "approve", resource: "*approved*" },
  ],
};

const OWN = { resourcesAsTools: true, promptsAsTools: true } as const;

interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly code: unknown;
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const { content, isError = false, _meta } = await client.callTool({ name, arguments: args });
  const failure = _meta?.["toolport/error"] as { code?: unknown } | undefined;
  return { text: (content as { text: string }[])[0]!.text, isError: isError === true, code: failure?.code };
}

describe.each(["modern", "legacy"] as const)("%s clients", (era) => {
  async function open(document: PolicyDocument = HIDDEN, resourcesAsTools: ResourcesAsToolsOption = true) {
    const server = library();
    const scene = await openGateway(
      { mcpServers: { lib: server.memory() }, ...OWN, resourcesAsTools },
      { auth: false, policy: await readPolicy(document) },
    );
    return {
      client: await scene.client(era),
      async [Symbol.asyncDispose]() {
        await scene[Symbol.asyncDispose]();
        await server.close();
      },
    };
  }

  test("see the tools, and what the policy shows", async () => {
    await using scene = await open();
    const { client } = scene;
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "get_prompt",
      "list_prompts",
      "list_resources",
      "read_resource",
    ]);
    const resources = JSON.parse((await call(client, "list_resources")).text);
    expect(resources).toMatchObject([{ mcpServer: "lib", uri: "test://open" }]);
    const prompts = JSON.parse((await call(client, "list_prompts")).text);
    expect(prompts.map(({ name }: { name: string }) => name)).toEqual(["open", "letter"]);
  });

  test("read what is allowed", async () => {
    await using scene = await open();
    const { client } = scene;
    const read = await call(client, "read_resource", { mcpServer: "lib", uri: "test://open" });
    expect(read).toMatchObject({ isError: false, text: expect.stringContaining("an open text") });
    const prompt = await call(client, "get_prompt", {
      mcpServer: "lib",
      name: "letter",
      arguments: { to: "you" },
    });
    expect(prompt).toMatchObject({ isError: false, text: expect.stringContaining("Dear you") });
  });

  test.each([
    ["read_resource", { mcpServer: "lib", uri: "test://secret" }],
    ["read_resource", { uri: "test://secret", mcpServer: "" }],
    ["get_resource", { mcpServer: "lib", uri: "test://secret" }],
    ["read_resource", { mcpServer: "lib", uri: "test://secret/2" }],
    ["read_resource", { mcpServer: "lib", uri: "test://secret-but-not-there" }],
    ["read_resource", { mcpServer: "lib", uri: "test://approved" }],
    ["get_prompt", { mcpServer: "lib", name: "secret" }],
    ["get_prompt", { mcpServer: "lib", name: "letter", arguments: { to: "boss" } }],
  ])("are refused: %s %o", async (name, args) => {
    await using scene = await open();
    const { text, isError, code } = await call(scene.client, name, args);
    expect(isError).toBe(true);
    expect(text).not.toContain("hidden");
    expect(text).not.toContain("Dear");
    if (args.mcpServer === "lib") expect(code).toBe("REFUSED");
  });

  test("get no hints about what they may not see", async () => {
    await using scene = await open();
    const { client } = scene;
    const missing = await call(client, "read_resource", { mcpServer: "lib", uri: "test://secre" });
    expect(missing).toMatchObject({ isError: true });
    const prompt = await call(client, "get_prompt", { mcpServer: "lib", name: "secre" });
    expect(prompt).toMatchObject({ isError: true });
    expect(`${missing.text} ${prompt.text}`).not.toContain("secret");
  });

  test("tools of a function of the program are not offered: the gateway cannot see what they read", async () => {
    const own: ResourcesAsToolsOption = (resources) => [
      {
        name: "manual",
        description: "Reads the manual",
        inputSchema: { type: "object" },
        call: async () => (await resources.read("lib", "test://secret"))[0]?.text ?? "",
      },
    ];
    await using scene = await open(HIDDEN, own);
    const { client } = scene;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["get_prompt", "list_prompts"]);
    await expect(call(client, "manual")).rejects.toMatchObject({ code: -32602 });
  });
});

test("each user sees and reads by the rules for that user, and refusals are in the audit log", async () => {
  await using server = library();
  const events: AuditEvent[] = [];
  const isAda = ({ principal }: PolicyRequest) => principal?.includes("ada") === true;
  const policy = (request: PolicyRequest): PolicyDecision =>
    isAda(request) || !request.uri?.includes("secret") ? { effect: "allow" } : { effect: "deny" };
  await using scene = await openAttackScene(
    { mcpServers: { lib: (await server.http()).entry }, ...OWN },
    { policy, audit: (event) => events.push(event) },
  );
  const of = async (user: string, name: string, args = {}) =>
    (await scene.modern(user, "tools/call", { name, arguments: args })).last.result;
  const secret = { mcpServer: "lib", uri: "test://secret" };
  const [ada, bob] = await Promise.all(["ada", "bob"].map((user) => of(user, "read_resource", secret)));
  expect(ada.content[0].text).toContain("a hidden text");
  expect(bob).toMatchObject({ isError: true, _meta: { "toolport/error": { code: "REFUSED" } } });
  expect((await of("ada", "list_resources")).content[0].text).toContain("secret");
  expect((await of("bob", "list_resources")).content[0].text).not.toContain("secret");
  const reads = events.filter(({ tool }) => tool === "read_resource");
  expect(reads.map(({ outcome, server: name }) => [outcome, name]).sort()).toEqual([
    ["ok", "lib"],
    ["refused", "lib"],
  ]);
});
