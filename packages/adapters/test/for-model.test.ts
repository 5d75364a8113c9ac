import { tokenCeiling } from "@toolport/base";
import type { Toolport, ToolResult } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { toLangChainTools } from "toolport/langchain";
import { type OpenAIRunOptions, runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/support/failure.js";
import { IMAGE, ISSUES, openLargeResults } from "./large-results-scene.js";

const answerWith = (name: string, args: object = {}) => ({
  tool_calls: [{ id: "1", type: "function" as const, function: { name, arguments: JSON.stringify(args) } }],
});

/** What a model of OpenAI's chat API gets. */
async function contentOf(
  toolport: Toolport,
  name: string,
  options: OpenAIRunOptions & { args?: object } = {},
) {
  const { args, ...run } = options;
  const [message] = await runOpenAIToolCalls(toolport, answerWith(name, args), run);
  return (message as { content: string }).content;
}

const idIn = (text: string): string => /read_artifact with \{"id":"([\w-]+)"/.exec(text)?.[1] ?? "none";
const namesOf = async (toolport: Toolport, options?: Parameters<typeof toOpenAITools>[1]) =>
  (await toOpenAITools(toolport, options as { api?: "chat" })).map((tool) => tool.function.name);

describe("what a model gets", () => {
  test.each(["list_issues", "log", "rows", "links", "structured", "fail", "mixed"])(
    "of %s: a note in front, a preview, at most 600 tokens",
    async (tool) => {
      await using scene = openLargeResults();
      const content = await contentOf(scene.toolport, `github__${tool}`);
      expect(content).toMatch(/^(Error: )?\[truncated: \d+ of \d+ bytes\. Shape: /);
      expect(tokenCeiling(content)).toBeLessThanOrEqual(620);
      const page = await scene.toolport.callTool("read_artifact", {
        id: idIn(content),
        from: 1_000,
        count: 2,
      });
      expect(page).toMatchObject({
        isError: false,
        text: expect.stringMatching(/^(Items|Lines) 1000 to 1001 of /),
      });
    },
  );

  test("small texts, images and files stay beside the large text", async () => {
    await using scene = openLargeResults();
    const [message] = await runAnthropicToolCalls(scene.toolport, {
      content: [{ type: "tool_use", id: "1", name: "github__mixed", input: {} } as { type: string }],
    });
    const [result] = message!.content as { content: { type: string; text?: string }[] }[];
    expect(result!.content.map(({ type }) => type)).toEqual(["text", "text", "image", "text", "document"]);
    expect(result!.content[0]!.text).toContain("Shape: { total_count: number, items: list of 1500 ");
    expect(result!.content[1]!.text).toBe("Here are the issues:");
    expect(JSON.stringify(result!.content[4])).toContain(IMAGE.slice(0, 100));
  });

  test("many texts become the lines of one artifact", async () => {
    await using scene = openLargeResults();
    const content = await contentOf(scene.toolport, "github__rows");
    const page = await scene.toolport.callTool("read_artifact", { id: idIn(content), find: '"row":4999,' });
    expect(page.text).toContain('{"row":4999,"name":"Ada 4999"}');
  });

  test("the same result gives the same text", async () => {
    await using scene = openLargeResults();
    const contents = [1, 2].map(() => contentOf(scene.toolport, "github__list_issues"));
    expect(new Set(await Promise.all(contents)).size).toBe(1);
  });

  test("a result within the limit is unchanged, and so is everything with false", async () => {
    await using scene = openLargeResults();
    expect(await contentOf(scene.toolport, "github__small")).toBe("small");
    const whole = await contentOf(scene.toolport, "github__list_issues", { forModel: false });
    expect(whole === ISSUES).toBe(true);
    expect((await scene.toolport.callTool("github__list_issues")).text === ISSUES).toBe(true);
  });

  test("indented JSON is written compactly, and whole if it fits then", async () => {
    await using scene = openLargeResults();
    const compact = JSON.stringify(JSON.parse(ISSUES));
    const forModel = { bytes: compact.length + 100 };
    expect(ISSUES.length).toBeGreaterThan(forModel.bytes);
    for (const except of [[], ["read_artifact"]])
      expect(await contentOf(scene.toolport, "github__list_issues", { forModel, except })).toBe(compact);
    const mixed = await contentOf(scene.toolport, "github__mixed", { forModel });
    expect(mixed.startsWith("Here are the issues:\n")).toBe(true);
    expect(mixed).toContain(compact);
  });

  test("a result that is not longer than its note stays as it is", async () => {
    await using scene = openLargeResults();
    expect(await contentOf(scene.toolport, "github__small", { forModel: { bytes: 1 } })).toBe("small");
  });

  test("answers of read_artifact are never cut", async () => {
    await using scene = openLargeResults();
    const forModel = { bytes: 500 };
    const id = idIn(await contentOf(scene.toolport, "github__log", { forModel }));
    const page = await contentOf(scene.toolport, "read_artifact", { forModel, args: { id, count: 200 } });
    expect(page.startsWith("Lines 0 to 199 of 30000. Next: from 200.\n0 something happened")).toBe(true);
  });

  test("limits of single tools, also through call_tool", async () => {
    await using scene = openLargeResults({ deferTools: true });
    const forModel = { bytes: 1_000, tools: { "github__list_*": Number.POSITIVE_INFINITY } };
    const args = { name: "github__list_issues", arguments: {} };
    expect(await contentOf(scene.toolport, "call_tool", { forModel, args })).toHaveLength(ISSUES.length);
    const log = { name: "github__log", arguments: {} };
    expect((await contentOf(scene.toolport, "call_tool", { forModel, args: log })).length).toBeLessThan(
      1_500,
    );
    const tools = await toAiSdkTools(scene.toolport, { forModel });
    const convert = tools["call_tool"]!.toModelOutput as unknown as (given: object) => { value: string };
    const output = await scene.toolport.callTool("github__list_issues");
    expect(convert({ input: args, output }).value).toHaveLength(ISSUES.length);
    expect(convert({ input: log, output }).value.length).toBeLessThan(2_000);
  });
});

describe("read_artifact is offered", () => {
  const offered = (scene: { toolport: Toolport }) => ({
    OpenAI: () => namesOf(scene.toolport, { only: ["*small"] }),
    Anthropic: async () =>
      (await toAnthropicTools(scene.toolport, { only: ["*small"] })).map(({ name }) => name),
    Gemini: async () =>
      (await toGeminiTools(scene.toolport, { only: ["*small"] }))[0]!.functionDeclarations.map(
        ({ name }) => name,
      ),
    "AI SDK": async () => Object.keys(await toAiSdkTools(scene.toolport, { only: ["*small"] })),
    LangChain: async () =>
      (await toLangChainTools(scene.toolport, { only: ["*small"] })).map(({ name }) => name),
  });

  test.each(["OpenAI", "Anthropic", "Gemini", "AI SDK", "LangChain"] as const)(
    "last, in %s",
    async (adapter) => {
      await using scene = openLargeResults();
      expect(await offered(scene)[adapter]()).toEqual(["github__small", "read_artifact"]);
    },
  );

  test("not with false, nor if it is excepted, nor without other tools", async () => {
    await using scene = openLargeResults();
    expect(await namesOf(scene.toolport, { only: ["*small"], forModel: false })).toEqual(["github__small"]);
    expect(await namesOf(scene.toolport, { except: ["read_artifact"] })).not.toContain("read_artifact");
    expect(await namesOf(scene.toolport, { only: ["nothing"] })).toEqual([]);
  });

  test("once, if the port lists it too", async () => {
    await using scene = openLargeResults({ maxResultBytes: { bytes: 1_000, mode: "truncate", read: true } });
    expect((await namesOf(scene.toolport)).filter((name) => name === "read_artifact")).toHaveLength(1);
  });

  test("to a run under the same conditions", async () => {
    await using scene = openLargeResults();
    const args = { id: "unknown" };
    const asked = (options: OpenAIRunOptions) =>
      contentOf(scene.toolport, "read_artifact", { args, ...options });
    expect(await asked({ only: ["*small"] })).toContain("There is no artifact");
    expect(await asked({ only: ["*small"], unknownTools: "skip" })).toContain("There is no artifact");
    expect(await asked({ except: ["read_*"] })).toContain("TOOL_NOT_FOUND");
    expect(await asked({ only: ["*small"], forModel: false })).toContain("TOOL_NOT_FOUND");
  });

  test("not with schemas of the caller, whose results are cut to the limit", async () => {
    await using scene = openLargeResults();
    const tools = await toAiSdkTools(scene.toolport, {
      schemas: { github__list_issues: { inputSchema: z.object({}) } },
      forModel: { bytes: 5_000 },
    });
    expect(Object.keys(tools)).toEqual(["github__list_issues"]);
    const output = await scene.toolport.callTool("github__list_issues");
    const convert = tools.github__list_issues.toModelOutput as unknown as (given: object) => {
      value: string;
    };
    const { value } = convert({ input: {}, output });
    expect(value).not.toContain("read_artifact");
    expect(value.length).toBeGreaterThan(4_000);
    expect(value.length).toBeLessThan(6_000);
  });
});

describe("without reading", () => {
  test.each([
    ["excepted", (toolport: Toolport) => ({ toolport, except: ["read_artifact"] })],
    [
      "a wrapper of the program",
      (toolport: Toolport) => ({ toolport: { ...toolport } as Toolport, except: [] }),
    ],
  ])("as much as fits, and the advice to narrow the call: %s", async (_name, setup) => {
    await using scene = openLargeResults();
    const { toolport, except } = setup(scene.toolport);
    expect(await namesOf(toolport, { except })).not.toContain("read_artifact");
    const content = await contentOf(toolport, "github__list_issues", { except });
    expect(content).toContain("call the tool again with narrower arguments");
    expect(content).not.toContain("read_artifact");
    const shown = content.slice(content.indexOf("\n") + 1);
    expect(shown.length).toBeGreaterThan(95_000);
    expect(shown.length).toBeLessThanOrEqual(100_000);
    expect((JSON.parse(shown) as { items: unknown[] }).items.length).toBeGreaterThan(100);
  });

  test("a wrapper that inherits can read", async () => {
    await using scene = openLargeResults();
    const wrapper = Object.create(scene.toolport) as Toolport;
    expect(idIn(await contentOf(wrapper, "github__list_issues"))).not.toBe("none");
  });

  test("no user reads what another user's model was given", async () => {
    await using scene = openLargeResults();
    const id = idIn(await contentOf(scene.toolport.as("ada"), "github__list_issues"));
    expect(await contentOf(scene.toolport.as("ada"), "read_artifact", { args: { id } })).toContain("Items 0");
    for (const other of [scene.toolport.as("bob"), scene.toolport])
      expect(await contentOf(other, "read_artifact", { args: { id } })).toMatch(
        /^Error: There is no artifact/,
      );
  });
});

describe("format", () => {
  const toLines = ({ text }: ToolResult) =>
    (JSON.parse(text) as { items: { number: number }[] }).items
      .map(({ number }) => `issue ${number}`)
      .join("\n");

  test("replaces the texts, which then have to fit", async () => {
    await using scene = openLargeResults();
    const content = await contentOf(scene.toolport, "github__list_issues", { forModel: { format: toLines } });
    expect(content.startsWith("issue 0\nissue 1\n")).toBe(true);
    const forModel = { format: toLines, bytes: 1_000 };
    const cut = await contentOf(scene.toolport, "github__list_issues", { forModel });
    expect(cut).toContain("Shape: text of 1500 lines.");
  });

  test("undefined and an error leave the result as it is", async () => {
    await using scene = openLargeResults();
    for (const format of [
      () => undefined,
      () => {
        throw new Error("cannot encode");
      },
    ])
      expect(await contentOf(scene.toolport, "github__small", { forModel: { format } })).toBe("small");
  });
});

test.each<[unknown, string]>([
  [true, "forModel: must be an object"],
  [{ bytes: 0 }, "forModel.bytes"],
  [{ bytes: "many" }, "forModel.bytes"],
  [{ bites: 1 }, 'did you mean "bytes"?'],
  [{ tools: { "a__*": -1 } }, "a__*"],
  [{ format: "toon" }, "forModel.format"],
])("a wrong option is refused, by name: %j", async (given, said) => {
  await using scene = openLargeResults();
  const forModel = given as false;
  const failures = await Promise.all([
    failure(runOpenAIToolCalls(scene.toolport, answerWith("github__small"), { forModel })),
    failure(runGeminiToolCalls(scene.toolport, { parts: [{ functionCall: { name: "x" } }] }, { forModel })),
    failure(toAiSdkTools(scene.toolport, { forModel })),
    failure(toLangChainTools(scene.toolport, { forModel })),
    failure(toOpenAITools(scene.toolport, { forModel })),
  ]);
  for (const error of failures) {
    expect(error).toMatchObject({ code: "INVALID_CONFIG" });
    expect(error.message).toContain(said);
  }
});
