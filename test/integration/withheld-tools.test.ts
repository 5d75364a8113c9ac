/** A bad tool affects only itself: it is withheld with its reason, the others are listed and work. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, type ServerEntry } from "toolport";
import { describe, expect, test } from "vitest";
import { type JsonRpcMethods, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { failure } from "../support/failure.js";

const object = { type: "object", properties: { text: { type: "string" } } };
const DEEP = 10_000;
/** As text, because `JSON.stringify` fails at this depth. */
const deepSchema = `${'{"type":"object","properties":{"a":'.repeat(DEEP)}{}${"}}".repeat(DEEP)}`;

const good = Array.from({ length: 10 }, (_, index) => ({ name: `good_${index}`, inputSchema: object }));
/** Bad tools, and the expected reason of each. */
const bad: [Record<string, unknown>, shown: string, reason: RegExp][] = [
  [{ name: 42, inputSchema: object }, "42", /name is not a non-empty string/],
  [{ name: "no_schema" }, "no_schema", /inputSchema is not an object/],
  [{ name: "deep", inputSchema: "DEEP" }, "deep", /nested deeper than 64 levels/],
  [{ name: "text", inputSchema: { type: "string" } }, "text", /does not describe an object/],
  [{ name: "list", inputSchema: [] }, "list", /inputSchema is not an object/],
  [{ name: "good_3", inputSchema: object }, "good_3", /Listed twice/],
];
const header = {
  name: "header",
  inputSchema: { type: "object", properties: { a: { type: "array", "x-mcp-header": "A" } } },
};

/** Good and bad ones mixed, as JSON text. */
function listed(more: readonly object[] = []): string {
  const tools = good.flatMap((tool, index) => [tool, ...(bad[index] ? [bad[index][0]] : [])]);
  return JSON.stringify([...tools, ...more]).replace('"DEEP"', deepSchema);
}

const call = ({ name, arguments: args }: Record<string, unknown>) => ({
  content: [{ type: "text", text: `${name}: ${(args as { text?: string }).text}` }],
});

const methods = (more: readonly object[] = []): JsonRpcMethods => ({
  "tools/list": () => `{"resultType":"complete","tools":${listed(more)}}`,
  "tools/call": ({ params }) => call(params),
});

async function check(entry: ServerEntry, expected: readonly (readonly [string, RegExp])[]): Promise<void> {
  const warnings: string[] = [];
  await using toolport = createToolport({ mcpServers: { mixed: entry } });
  toolport.on("warning", ({ message }) => warnings.push(message));
  const { servers } = await toolport.connect();
  expect(servers["mixed"]).toMatchObject({ state: "ready", toolCount: 10 });
  const tools = await toolport.tools();
  expect(tools.map(({ sourceName }) => sourceName)).toEqual(good.map(({ name }) => name));
  for (const { name, sourceName } of tools) {
    expect((await toolport.callTool(name, { text: "hi" })).text).toBe(`${sourceName}: hi`);
  }
  const { withheldTools } = toolport.snapshot();
  expect(withheldTools.map(({ name }) => name)).toEqual(expected.map(([name]) => name));
  for (const [index, [name, reason]] of expected.entries()) {
    expect(withheldTools[index]).toMatchObject({ server: "mixed", reason: expect.stringMatching(reason) });
    expect(warnings.some((line) => line.includes(name) && reason.test(line))).toBe(true);
    if (name === "good_3") continue;
    const error = await failure(toolport.callTool(`mixed__${name}`));
    expect(error).toMatchObject({
      code: "TOOL_WITHHELD",
      reason: expect.stringMatching(reason),
      outcome: "unsent",
    });
  }
}

const expected = bad.map(([, shown, reason]) => [shown, reason] as const);

describe("ten good tools and six bad ones", () => {
  test("over modern HTTP; a bad header declaration makes it seven", async () => {
    await using server = await startJsonRpcServer(methods([header]));
    await check(server.entry, [...expected, ["header", /x-mcp-header/]]);
  });

  test("over legacy HTTP", async () => {
    await using server = await startJsonRpcServer(methods(), { era: "legacy" });
    await check(server.entry, expected);
  });

  test("over stdio, from a handwritten server", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolport-"));
    try {
      const script = join(folder, "server.mjs");
      await writeFile(
        script,
        `import { createInterface } from "node:readline";
        const list = ${JSON.stringify(listed())};
        const answers = {
          initialize: ({ protocolVersion }) => JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } }),
          "tools/list": () => '{"tools":' + list + "}",
          "tools/call": ({ name, arguments: args }) => JSON.stringify({ content: [{ type: "text", text: name + ": " + args.text }] }),
        };
        createInterface({ input: process.stdin }).on("line", (line) => {
          const { id, method, params } = JSON.parse(line);
          if (id === undefined) return;
          const known = answers[method];
          const body = known ? '"result":' + known(params) : '"error":{"code":-32601,"message":"Method not found"}';
          process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + "," + body + "}\\n");
        });`,
      );
      await check({ command: process.execPath, args: [script] }, expected);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
