/** Version 7 of the AI SDK and deferred tools: its types, and requests in a Node that it supports. Needs a build. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const AI_VERSION = "7.0.169";
const PROVIDERS = ["@ai-sdk/openai@4.0.114", "@ai-sdk/anthropic@4.0.102"];
const NODE_MAJOR = 22;
const DOUBLE = ["search-double", "search-double-anthropic", "search-double-openai", "search-turns"];

interface Tools {
  fetchNode(major: number): Promise<string>;
  fetchTool(
    folder: string,
    name: string,
    version: string,
    options: { beside: readonly string[] },
  ): Promise<string>;
  run(command: string, args: string[], options: object): Promise<{ code: number; output: string }>;
}
const { fetchNode, fetchTool, run } = (await import("../../../scripts/fetch-tool.mjs" as string)) as Tools;

/** Compiled only: every shape that Toolport gives the AI SDK and its providers. */
const TYPES = `
import { type AnthropicToolOptions, createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI, type OpenAIToolOptions } from "@ai-sdk/openai";
import { generateText, isStepCount, type ToolResultPart, type ToolSet } from "ai";
import type { Toolport } from "toolport";
import { toAiSdkToolSearch, toAiSdkTools } from "toolport/ai-sdk";

export const openaiOptions: OpenAIToolOptions = {
  deferLoading: true,
  namespace: { name: "weather", description: "Weather" },
  allowedCallers: ["direct", "programmatic"],
  outputSchema: { type: "object" },
};
export const anthropicOptions: AnthropicToolOptions = {
  deferLoading: true,
  allowedCallers: ["direct", "code_execution_20260120"],
};
// @ts-expect-error the whole namespace cannot be deferred
export const deferredNamespace: OpenAIToolOptions = { namespace: { name: "a", description: "b", deferLoading: true } };
export const reference: ToolResultPart["output"] = {
  type: "content",
  value: [{ type: "custom", providerOptions: { anthropic: { type: "tool-reference", toolName: "a" } } }],
};

export async function ask(toolport: Toolport) {
  const anthropic = createAnthropic();
  const openai = createOpenAI();
  const tools: ToolSet = await toAiSdkTools(toolport, { deferred: "sdk" });
  const native = await toAiSdkTools(toolport, { deferred: "native" });
  const [first] = Object.values(tools);
  const isDeferred: boolean | undefined = first?.deferLoading;
  await generateText({
    model: openai("gpt-5.4"),
    tools: { ...native, tool_search: openai.tools.toolSearch(await toAiSdkToolSearch(toolport)) },
    prompt: "",
  });
  await generateText({
    model: anthropic("claude-sonnet-4-5"),
    tools: { ...native, search: anthropic.tools.toolSearchBm25_20251119() },
    stopWhen: isStepCount(3),
    prompt: String(isDeferred),
  });
}
`;

/** Problems of the program, with the packages in and above the folder. */
function typeProblems(folder: string): string[] {
  const file = join(folder, "types.ts");
  writeFileSync(file, TYPES);
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  });
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file: at, start = 0 }) => {
    const line = at === undefined ? 0 : at.getLineAndCharacterOfPosition(start).line + 1;
    return `${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

test("every way to reach deferred tools works with ai 7", async () => {
  const ai = await fetchTool("ai-sdk", "ai", AI_VERSION, { beside: PROVIDERS });
  const node = await fetchNode(NODE_MAJOR);
  // Below the folder with version 7, so that the copy of the package finds it before the version of the repository.
  const folder = mkdtempSync(join(dirname(dirname(ai)), "run-"));
  try {
    const home = join(folder, "node_modules/toolport");
    cpSync(join(root, "packages/toolport/dist"), join(home, "dist"), { recursive: true });
    cpSync(join(root, "packages/toolport/package.json"), join(home, "package.json"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const program = "test/runtimes/ai-sdk-deferred.mjs";
    const double = "packages/adapters/test";
    cpSync(join(root, program), join(folder, program));
    mkdirSync(join(folder, double), { recursive: true });
    for (const name of DOUBLE) {
      const source = readFileSync(join(root, double, `${name}.ts`), "utf8");
      const { outputText } = ts.transpileModule(source, {
        compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
      });
      writeFileSync(join(folder, double, `${name}.js`), outputText);
    }
    expect(typeProblems(folder)).toEqual([]);
    const { code, output } = await run(node, [join(folder, program)], { timeoutMs: 60_000 });
    expect({ code, output: output.trim() }).toEqual({ code: 0, output: expect.stringMatching(/passed$/) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);
