/** The policies, engines and audit log of `docs/policies.md` run and decide as the page says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as cedar from "@cedar-policy/cedar-wasm/nodejs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport, type ToolportOptions } from "toolport";
import * as serve from "toolport/serve";
import { createGateway, type Gateway, type PolicyEngine, type PolicyHook, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { MODERN } from "../../packages/gateway/test/gateway-scene.js";
import { warmUp } from "../../packages/gateway/test/warm-up.js";
import { readMarkdown } from "./markdown.js";
import { runSnippet } from "./run-snippet.js";

beforeAll(warmUp);

const { blocks } = readMarkdown("docs/policies.md");
const block = (language: string, part: string): string => {
  const found = blocks.filter((each) => each.language === language && each.text.includes(part));
  expect(found).toHaveLength(1);
  return found[0]!.text;
};

/** Runs a block and returns what it exports. */
async function load<Exports>(
  part: string,
  packages: Record<string, () => Promise<object>> = {},
): Promise<Exports> {
  const exports = {} as Exports;
  await runSnippet(block("ts", part), { exports }, packages);
  return exports;
}

const CALL = { method: "tools/call", principal: "alice" };

describe("the policy files", () => {
  test("decide as the page says", async () => {
    const policy = await readPolicy(block("jsonc", '"delete_*"'));
    const effect = async (request: object) =>
      (await policy.decide({ method: "tools/call", server: "files", ...request })).effect;
    const alice = JSON.stringify(["https://login.example.com", "alice"]);
    expect(await effect({ principal: alice, tool: "delete_file" })).toBe("deny");
    expect(await effect({ principal: alice, server: "bank", tool: "transfer" })).toBe("allow");
    expect(await effect({ tool: "read_file" })).toBe("allow");
    expect(await effect({ tool: "write_file" })).toBe("deny");
    expect(await effect({ method: "resources/read", server: "docs", uri: "docs://public/a" })).toBe("allow");
    expect(await effect({ server: "mail", tool: "send", scopes: ["mail:send"] })).toBe("approve");
    expect(await effect({ server: "mail", tool: "send", scopes: [] })).toBe("deny");
  });

  test("look at arguments as the page says", async () => {
    const policy = await readPolicy(block("jsonc", '"copy_files"'));
    const effect = async (server: string, tool: string, args: Record<string, unknown>) =>
      (await policy.decide({ ...CALL, server, tool, args })).effect;
    expect(await effect("files", "read_file", { path: "/home/a" })).toBe("allow");
    expect(await effect("files", "read_file", { path: "/home/../etc/passwd" })).toBe("deny");
    expect(await effect("files", "copy_files", { files: [{ from: "/etc/a" }], to: "/home/a" })).toBe("deny");
    expect(await effect("bank", "transfer", { amount: 1000 })).toBe("approve");
    expect(await effect("bank", "transfer", { amount: 1001 })).toBe("deny");
  });
});

describe("the engines", () => {
  const loadCedar = () =>
    load<{ askCedar: PolicyHook }>("statefulIsAuthorized", {
      "node:fs": async () => ({ readFileSync: () => block("cedar", "permit") }),
      "@cedar-policy/cedar-wasm/nodejs": async () => cedar,
    });

  test("Cedar decides in lists and calls of a gateway, and denies what it cannot read", async () => {
    const { askCedar } = await loadCedar();
    const tools = { files: ["read_file", "delete_file"], bank: ["transfer"], mail: ["send"] };
    await using upstream = await openUpstreams(tools, {}, { policy: askCedar });
    const user = await upstream.client({ scopes: ["mcp"] });
    const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort();
    expect(await names(user)).toEqual(["bank__transfer", "files__read_file"]);
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { isError, content } = await user.callTool({ name, arguments: args });
      return isError === true ? JSON.stringify(content) : "ran";
    };
    expect(await call("files__read_file", { path: "/a" })).toBe("ran");
    expect(await call("files__delete_file")).toContain("The policy engine denies this");
    expect(await call("bank__transfer", { amount: 100 })).toBe("ran");
    expect(await call("bank__transfer", { amount: 101 })).toContain("denies");
    expect(await call("bank__transfer", {})).toContain("denies");
    // A fraction is not a value of Cedar.
    expect(await call("bank__transfer", { amount: 0.5 })).toContain("did not decide");
    expect(await names(await upstream.client({ scopes: ["admin"] }))).toContain("files__delete_file");
    expect(upstream.ran).toEqual(["read_file", "transfer"]);
  });

  test("OPA is asked once for a list, and a broken OPA denies", async () => {
    const { opa } = await load<{ opa: PolicyEngine }>("v1/data/toolport");
    const asked: string[] = [];
    let isBroken = false;
    // Does what the page's Rego says, and refuses what the real API refuses: other methods, paths and bodies.
    const server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      request.on("end", () => {
        asked.push(request.url!);
        const rule = /^\/v1\/data\/toolport\/(decisions?)$/.exec(request.url!)?.[1];
        const decide = ({ server: name, tool = "" }: { server: string; tool?: string }) => {
          if (name === "files" && tool.startsWith("read_")) return "allow";
          return name === "mail" ? { effect: "approve", reason: "Mail leaves the company" } : "deny";
        };
        const { input } = JSON.parse(body);
        if (isBroken || request.method !== "POST" || input === undefined) response.writeHead(500).end("{}");
        else if (rule === undefined) response.end("{}");
        else
          response.end(
            JSON.stringify({ result: rule === "decision" ? decide(input) : input.requests.map(decide) }),
          );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const realFetch = globalThis.fetch;
    globalThis.fetch = (input, init) => realFetch(String(input).replace(":8181", `:${port}`), init);
    try {
      const tools = { files: ["read_file", "delete_file"], mail: ["send"] };
      await using upstream = await openUpstreams(tools, {}, { policy: opa });
      const client = await upstream.client({ scopes: [] });
      expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual([
        "files__read_file",
        "mail__send",
      ]);
      expect(asked).toEqual(["/v1/data/toolport/decisions"]);
      expect((await client.callTool({ name: "files__read_file", arguments: {} })).isError).not.toBe(true);
      expect(JSON.stringify(await client.callTool({ name: "mail__send", arguments: {} }))).toContain(
        "Mail leaves the company",
      );
      isBroken = true;
      expect(JSON.stringify(await client.callTool({ name: "files__read_file", arguments: {} }))).toContain(
        "did not decide",
      );
      expect((await client.listTools()).tools).toEqual([]);
      expect(upstream.ran).toEqual(["read_file"]);
    } finally {
      globalThis.fetch = realFetch;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

test("the gateways of the page start with their options", async () => {
  const policy = await readPolicy({ default: "deny", rules: [] });
  for (const part of ["watchPolicy(", "onEvent:"]) {
    const { gateway } = await load<{ gateway: Gateway }>(part, {
      "toolport/serve": async () => ({ ...serve, watchPolicy: async () => policy }),
    });
    await gateway.close();
  }
});

/** A gateway whose clients name their scopes, over servers that record what ran. */
async function openUpstreams(
  tools: Readonly<Record<string, readonly string[]>>,
  options: Partial<ToolportOptions>,
  gatewayOptions: Parameters<typeof createGateway>[1],
) {
  const ran: string[] = [];
  const servers = Object.entries(tools).map(([name, list]) => {
    const definitions = list.map((tool) => [tool, { handler: () => String(ran.push(tool)) }]);
    return { name, server: createTestServer({ tools: Object.fromEntries(definitions) }) };
  });
  const mcpServers = Object.fromEntries(servers.map(({ name, server }) => [name, server.memory()]));
  const toolport = createToolport({ mcpServers, ...options });
  const gateway = createGateway(toolport, {
    ...gatewayOptions,
    auth: {
      verify: (request) => ({ principal: "alice", scopes: JSON.parse(request.headers.get("x-scopes")!) }),
    },
  });
  const clients: Client[] = [];
  return {
    ran,
    async client({ scopes }: { scopes: readonly string[] }): Promise<Client> {
      const client = new Client({ name: "c", version: "1.0.0" }, { versionNegotiation: { mode: MODERN } });
      clients.push(client);
      await client.connect(
        new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
          requestInit: { headers: { "x-scopes": JSON.stringify(scopes) } },
          fetch: (input, init) => gateway.fetch(new Request(input, init)),
        }),
      );
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await gateway.close({ drainMs: 1_000 });
      await toolport.close();
      await Promise.all(servers.map(({ server }) => server[Symbol.asyncDispose]()));
    },
  };
}
