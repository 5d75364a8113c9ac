/** The MCP Inspector from npm, in command-line mode, shows the same through a gateway as from the server itself. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatewayArguments, type HttpProcess, UPSTREAMS, useGateways } from "./fixture-processes.js";

const INSPECTOR = "@modelcontextprotocol/inspector";
const INSPECTOR_VERSION = "2.12.0";
/** The Inspector needs it. */
const NODE_MAJOR = 22;

const ERAS = ["legacy", "auto", "modern"] as const;
const REQUESTS: readonly (readonly string[])[] = [
  ["tools/list"],
  ["tools/call", "--tool-name", "test_multiple_content_types"],
  ["tools/call", "--tool-name", "test_mirrored_header", "--tool-arg", "region=eu-west1"],
  ["resources/templates/list"],
  ["resources/read", "--uri", "test://template/7/data"],
  ["prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"],
];

type Fields = Record<string, unknown>;
interface Tools {
  fetchNode(major: number): Promise<string>;
  fetchTool(folder: string, name: string, version: string): Promise<string>;
  run(
    command: string,
    args: readonly string[],
    options: { timeoutMs: number; env: NodeJS.ProcessEnv },
  ): Promise<{ code: number; output: string }>;
}
const { fetchNode, fetchTool, run } = (await import("../../../scripts/fetch-tool.mjs" as string)) as Tools;
let program: readonly [string, string];
let home: string;
const { server, gateways } = useGateways();
beforeAll(async () => {
  const folder = await fetchTool("inspector", INSPECTOR, INSPECTOR_VERSION);
  program = [await fetchNode(NODE_MAJOR), join(folder, "clients/launcher/build/index.js")];
  home = mkdtempSync(join(tmpdir(), "toolport-inspector-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** @param target arguments that name the server */
async function inspect(target: readonly string[], era: string, request: readonly string[]): Promise<Fields> {
  const [node, script] = program;
  const options = ["--cli", "--quiet", "--format", "json", "--protocol-era", era, "--method", ...request];
  // Each request starts the program again.
  const env = { ...process.env, HOME: home, NODE_COMPILE_CACHE: join(home, "compiled") };
  const { code, output } = await run(node, [script, ...options, ...target], { timeoutMs: 110_000, env });
  expect([code, output]).toEqual([0, expect.stringContaining('"result"')]);
  return (JSON.parse(output) as { result: Fields }).result;
}

/**
 * Without what each hop has of its own, in an order that does not depend on the hop. The Inspector shows `resultType` only if the
 * server has the tasks extension.
 */
function comparable({ _meta, ttlMs: _, cacheScope: __, resultType: ___, ...given }: Fields): Fields {
  const result = withoutHops(given);
  if (!Array.isArray(result["tools"])) return result;
  const tools = (result["tools"] as { name: string }[])
    // The tasks extension and its tools exist in the modern era only, so they depend on the era of the upstream.
    .filter(({ name }) => /^(test|json)_/.test(name) && name !== "test_tool_with_task")
    .sort((a, b) => a.name.localeCompare(b.name));
  return { ...result, tools };
}

/** Entries of lists count the gateways they have passed. */
const withoutHops = (result: Fields): Fields =>
  JSON.parse(
    JSON.stringify(result, (key, value: unknown) => {
      if (key !== "_meta") return value;
      const { "toolport/hops": _, ...meta } = value as Fields;
      return Object.keys(meta).length === 0 ? undefined : meta;
    }),
  ) as Fields;

const http = (url: string) => ["--transport", "http", "--server-url", url];

describe.each(ERAS)("era %s", (era) => {
  test.each(REQUESTS.map((request) => [request.slice(0, 3).join(" "), request]))(
    "%s",
    async (_name, request) => {
      const urls = [server.url, ...UPSTREAMS.map((upstream) => (gateways.get(upstream) as HttpProcess).url)];
      const [direct, ...through] = await Promise.all(
        urls.map(async (url) => comparable(await inspect(http(url), era, request))),
      );
      for (const [index, upstream] of UPSTREAMS.entries()) expect(through[index], upstream).toEqual(direct);
    },
  );

  test("over stdio", async () => {
    const args = gatewayArguments(server.url, "modern", "stdio");
    const { prompts } = await inspect(["--", process.execPath, ...args], era, ["prompts/list"]);
    expect((prompts as { name: string }[]).map(({ name }) => name)).toContain("test_simple_prompt");
  });
});
