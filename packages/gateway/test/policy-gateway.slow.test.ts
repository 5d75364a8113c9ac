/** The table of policy cases through a real gateway: in lists and in calls, by name, by another name and by `call_tool`. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { createGateway, type Gateway, type GatewayOptions } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PolicyDocument } from "../src/policy/policy.js";
import { readPolicy } from "../src/policy/read-policy.js";
import { MODERN } from "./gateway-scene.js";
import { POLICY_CASES, POLICY_SERVERS, type PolicyCase } from "./policy-cases.js";
import { warmUp } from "./warm-up.js";

const URL_OF_GATEWAY = "http://127.0.0.1/mcp";

interface Way {
  readonly title: string;
  readonly era: "modern" | "legacy";
  readonly options?: Partial<ToolportOptions>;
  readonly gatewayOptions?: GatewayOptions;
  /** The name and the arguments that the client sends. */
  readonly call: (wanted: PolicyCase) => { name: string; arguments: Record<string, unknown> };
  /** The tools that the client can see. */
  readonly list: (client: Client, wanted: PolicyCase) => Promise<string[]>;
  readonly nameOf: (wanted: PolicyCase) => string;
}

const plainName = ({ server, tool }: PolicyCase): string => `${server}__${tool}`;
const otherName = ({ server, tool }: PolicyCase): string => `use_${tool}_at_${server}`;
const listedNames = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const byName = (nameOf: (wanted: PolicyCase) => string) => ({
  nameOf,
  call: (wanted: PolicyCase) => ({ name: nameOf(wanted), arguments: { ...wanted.args } }),
  list: listedNames,
});

const WAYS: readonly Way[] = [
  { title: "by name, modern", era: "modern", ...byName(plainName) },
  { title: "by name, legacy", era: "legacy", ...byName(plainName) },
  {
    title: "by another name",
    era: "modern",
    options: { toolNameMapper: (server, tool) => `use_${tool.name}_at_${server.name}` },
    ...byName(otherName),
  },
  {
    title: "by call_tool",
    era: "modern",
    options: { deferTools: true },
    nameOf: plainName,
    call: (wanted) => ({
      name: "call_tool",
      arguments: { name: plainName(wanted), arguments: { ...wanted.args } },
    }),
    async list(client, wanted) {
      expect(await listedNames(client)).toEqual(["call_tool", "search_tools"]);
      const found = await client.callTool({ name: "search_tools", arguments: { query: wanted.tool } });
      return [...JSON.stringify(found).matchAll(/\w+__\w+/g)].map(([name]) => name);
    },
  },
  { title: "in a program", era: "modern", ...inProgram() },
];

/** Through `search` and `execute` of code mode. */
function inProgram(): Pick<Way, "gatewayOptions" | "nameOf" | "call" | "list"> {
  const member = ({ tool }: PolicyCase) =>
    tool.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const nameOf = (wanted: PolicyCase) => `${wanted.server}.${member(wanted)}`;
  return {
    gatewayOptions: { code: true },
    nameOf,
    call: (wanted) => ({
      name: "execute",
      arguments: { code: `return await tools.${nameOf(wanted)}(${JSON.stringify(wanted.args ?? {})})` },
    }),
    async list(client, wanted) {
      expect((await listedNames(client)).sort()).toEqual(["execute", "search"]);
      const found = await client.callTool({ name: "search", arguments: { query: nameOf(wanted) } });
      const text = found.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
      return new RegExp(`\\b${member(wanted)}\\(`).test(text) ? [nameOf(wanted)] : [];
    },
  };
}

describe.each(WAYS)("policy cases $title", ({ era, options, gatewayOptions, call, list, nameOf }) => {
  const upstreams = Object.entries(POLICY_SERVERS).map(([name, tools]) => ({
    name,
    server: createTestServer({
      tools: Object.fromEntries(
        tools.map((tool) => [tool, { description: tool, handler: () => `did ${tool}` }]),
      ),
    }),
  }));
  const gateways = new Map<PolicyDocument, Gateway>();
  let toolport: Toolport;

  beforeAll(async () => {
    await warmUp();
    const mcpServers = Object.fromEntries(upstreams.map(({ name, server }) => [name, server.memory()]));
    toolport = createToolport({ mcpServers, ...options });
  });
  afterAll(async () => {
    await Promise.all([...gateways.values()].map((gateway) => gateway.close({ drainMs: 1_000 })));
    await toolport.close();
    await Promise.all(upstreams.map(({ server }) => server[Symbol.asyncDispose]()));
  });

  async function gatewayOf(document: PolicyDocument): Promise<Gateway> {
    const known = gateways.get(document);
    if (known !== undefined) return known;
    const created = createGateway(toolport, {
      ...gatewayOptions,
      policy: await readPolicy(document),
      auth: {
        verify(request) {
          const { user, scopes } = JSON.parse(request.headers.get("x-user")!);
          return { principal: user, scopes };
        },
      },
    });
    gateways.set(document, created);
    return created;
  }

  /** A client of the case's user. `allows`: its answer to a request for approval; undefined: it cannot be asked. */
  async function connect(
    { policy, user = "guest", scopes = [] }: PolicyCase,
    allows?: boolean,
  ): Promise<Client> {
    const gateway = await gatewayOf(policy);
    const client = new Client(
      { name: "test-client", version: "1.0.0" },
      {
        versionNegotiation: { mode: era === "modern" ? MODERN : "legacy" },
        capabilities: allows === undefined ? {} : { elicitation: { form: {} } },
      },
    );
    if (allows !== undefined)
      client.setRequestHandler("elicitation/create", () => ({
        action: "accept",
        content: { allow: allows },
      }));
    const transport = new StreamableHTTPClientTransport(new URL(URL_OF_GATEWAY), {
      requestInit: { headers: { "x-user": JSON.stringify({ user, scopes }) } },
      fetch: (input, init) => gateway.fetch(new Request(input, init)),
    });
    await client.connect(transport);
    return client;
  }

  const callCount = (): number => upstreams.reduce((sum, { server }) => sum + server.calls.length, 0);

  async function outcomeOf(wanted: PolicyCase, allows?: boolean) {
    const client = await connect(wanted, allows);
    const names = await list(client, wanted);
    const before = callCount();
    const result = await client.callTool(call(wanted));
    await client.close();
    return { result, names, hasRun: callCount() > before };
  }

  it.each(POLICY_CASES)("$title", async (wanted) => {
    const { result, hasRun, names } = await outcomeOf(wanted);
    expect(names.includes(nameOf(wanted))).toBe(wanted.isListed);
    expect(hasRun).toBe(wanted.called === "allow");
    expect(result.isError === true).toBe(wanted.called !== "allow");
    // A program learns nothing about a tool that is hidden from it.
    const isToldWhy = wanted.isListed || gatewayOptions?.code === undefined;
    if (wanted.reason !== undefined && isToldWhy)
      expect(JSON.stringify(result.content)).toContain(wanted.reason);
    if (wanted.called !== "approve") return;
    expect((await outcomeOf(wanted, true)).hasRun).toBe(true);
    expect((await outcomeOf(wanted, false)).hasRun).toBe(false);
  });
});
