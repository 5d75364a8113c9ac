/** Rules that can never apply: errors at the start, warnings after a reload and after the first list. */
import {
  type GatewayOptions,
  type Policy,
  type PolicyDocument,
  type PolicyRule,
  readPolicy,
} from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

async function open(policy: GatewayOptions["policy"]) {
  const inputSchema = { type: "object" as const, properties: { path: { type: "string" as const } } };
  const server = createTestServer({ tools: { move_file: { inputSchema, handler: () => "moved" } } });
  const warnings: string[] = [];
  const log = () => {};
  const logger = { debug: log, info: log, error: log, warn: (text: string) => void warnings.push(text) };
  const scene = await openGateway(
    { mcpServers: { files: server.memory(), other: server.memory() }, logger },
    { auth: false, policy } as GatewayOptions,
  );
  return {
    scene,
    warnings,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

const of = (...rules: PolicyRule[]): PolicyDocument => ({ default: "allow", rules });

test.each<[PolicyRule, string]>([
  [
    { effect: "deny", server: "flies" },
    'rules[0].server: "flies" is not the name of a server; did you mean "files"?',
  ],
  [{ effect: "deny", server: ["files", "gone"] }, '"gone" is not the name of a server'],
  [{ effect: "deny", tool: "files__move_file" }, 'Write "server": "files", "tool": "move_file"'],
  [{ effect: "deny", server: "files", tool: "files__*" }, 'Write "server": "files", "tool": "*"'],
])("%j stops the start", async (rule, message) => {
  await using gateway = await open(await readPolicy(of(rule)));
  await expect(gateway.scene.gateway.ready()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining(message),
  });
});

test.each<[PolicyRule]>([
  [{ effect: "deny", server: "other", tool: "files__move_file" }],
  [{ effect: "deny", tool: "files_?move_file" }],
  [{ effect: "deny", server: "later" }],
])("%j may apply", async (rule) => {
  await using gateway = await open(await readPolicy(of(rule), { knownServers: ["later"] }));
  await gateway.scene.gateway.ready();
});

test("tools and arguments are compared with the first list, once", async () => {
  const policy = await readPolicy(
    of(
      { effect: "deny", server: "files", tool: ["move_flie", "move_file"] },
      { effect: "deny", server: "other", tool: "raed_*" },
      { effect: "deny", tool: ["delete_*", "*__move_file"] },
      { effect: "deny", server: "other", tool: "move_file", args: { "/pth": "/etc/*", "/path": "x" } },
    ),
  );
  await using gateway = await open(policy);
  for (const era of ["modern", "legacy"] as const) await (await gateway.scene.client(era)).listTools();
  const found = gateway.warnings.filter((text) => text.includes("can never apply"));
  expect(found).toEqual([
    expect.stringContaining(
      'rules[0].tool: "move_flie" is not the name of a tool of files; did you mean "move_file"?',
    ),
    expect.stringContaining('rules[1].tool: "raed_*" matches no tool of other'),
    expect.stringContaining(
      'rules[2].tool: "*__move_file" matches no tool of these servers, only the name that clients see: the server calls it "move_file"',
    ),
    expect.stringContaining('no tool of this rule has an argument "pth"; did you mean "path"?'),
  ]);
});

test("after a reload the rules are in use, and mistakes are warnings", async () => {
  const listeners = new Set<() => void>();
  let rules = await readPolicy(of());
  const policy: Policy = {
    decide: (request) => rules.decide(request),
    decideAll: (requests) => rules.decideAll(requests),
    source: () => rules.source!(),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {},
  };
  await using gateway = await open(policy);
  const client = await gateway.scene.client("modern");
  rules = await readPolicy(of({ effect: "deny", server: "files" }, { effect: "deny", server: "flies" }));
  for (const listener of listeners) listener();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["other__move_file"]);
  expect(gateway.warnings).toContainEqual(expect.stringContaining('"flies" is not the name of a server'));
});

test("a rule behind one that covers it is a warning", async () => {
  await using gateway = await open(
    await readPolicy(
      of(
        { effect: "allow", tool: "move_*", user: "a*" },
        { effect: "deny", server: "files", tool: "move_file", user: "alice" },
        { effect: "deny", server: "files", tool: "move_file" },
      ),
    ),
  );
  await gateway.scene.gateway.ready();
  expect(gateway.warnings).toEqual([
    expect.stringContaining("rules[1]: never applies, because rule 1 applies before it"),
  ]);
});

test("a rule that allows no reading of a resource is a warning", async () => {
  const rules = (...resources: string[]): PolicyDocument => ({
    default: "deny",
    rules: resources.map((resource) => ({ effect: "allow", server: "files", resource })),
  });
  await using gateway = await open(await readPolicy(rules("note://Team/*", "db://x/a//b", "db://x/*")));
  await gateway.scene.gateway.ready();
  expect(gateway.warnings).toEqual([
    expect.stringContaining(
      'rules[0].resource: "note://Team/*" allows nothing alone, because servers may read it as another resource: write "note://team/*" too',
    ),
  ]);
});
