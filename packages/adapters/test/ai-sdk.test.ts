/** The AI SDK and Toolport: `generateText` and `streamText` with the tools of four servers. */
import { createOpenAI } from "@ai-sdk/openai";
import { asSchema, generateText, jsonSchema, stepCountIs, streamText } from "ai";
import { type AiSdkToolResult, toAiSdkTools } from "toolport/ai-sdk";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/support/failure.js";
import { scriptedAiSdkModel } from "./ai-sdk-model.js";
import { startModelDouble } from "./model-double.js";
import { openAIChatProblems } from "./provider-rules.js";
import { AGENT_SCRIPT, openWorkshop, PIXEL } from "./workshop.js";

const stopWhen = stepCountIs(10);
const prompt = "Do your work";

/** The tool results that the model got in each turn. */
const resultsOf = (model: ReturnType<typeof scriptedAiSdkModel>) =>
  (model.doGenerateCalls.at(-1) ?? model.doStreamCalls.at(-1))!.prompt
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .map((part) => (part.type === "tool-result" ? part.output : part));

const RESULTS = [
  { type: "text", value: '{"sum":5}' },
  { type: "text", value: "Ada met the other" },
  { type: "text", value: "Bob met the other" },
  { type: "error-text", value: "The flask broke" },
  { type: "error-text", value: expect.stringContaining("lab__vanish") },
  { type: "error-text", value: expect.stringContaining("INVALID_ARGUMENTS") },
  {
    type: "content",
    value: [
      { type: "text", text: "A pixel" },
      { type: "image-data", data: PIXEL, mediaType: "image/png" },
    ],
  },
];

describe("an agent with the tools of four servers", () => {
  test("generateText", async () => {
    await using workshop = openWorkshop();
    const model = scriptedAiSdkModel(AGENT_SCRIPT);
    const tools = await toAiSdkTools(workshop.toolport);
    const { text, steps } = await generateText({ model, tools, stopWhen, prompt });
    expect(text).toBe("All done");
    expect(steps).toHaveLength(5);
    expect(steps[0]?.toolResults[0]?.output).toMatchObject({ structuredContent: { sum: 5 }, server: "math" });
    expect(resultsOf(model)).toMatchObject(RESULTS);
    const offered = model.doGenerateCalls[0]!.tools!;
    // With read_artifact.
    expect(offered).toHaveLength(110);
    expect(offered.every(({ name }) => /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name))).toBe(true);
  });

  test.each([false, true])("over HTTP, through the AI SDK's own provider (streaming: %s)", async (stream) => {
    await using workshop = openWorkshop();
    await using double = await startModelDouble(AGENT_SCRIPT);
    const model = createOpenAI({ apiKey: "test", baseURL: `${double.url}/v1` }).chat("gpt-5");
    const tools = await toAiSdkTools(workshop.toolport);
    const run = { model, tools, stopWhen, prompt };
    const text = stream ? await streamText(run).text : (await generateText(run)).text;
    expect(text).toBe("All done");
    expect(double.requests.length).toBeGreaterThan(3);
    expect(double.requests.flatMap(openAIChatProblems)).toEqual([]);
  });

  test("streamText", async () => {
    await using workshop = openWorkshop();
    const model = scriptedAiSdkModel(AGENT_SCRIPT);
    const tools = await toAiSdkTools(workshop.toolport);
    const result = streamText({ model, tools, stopWhen, prompt });
    let text = "";
    for await (const delta of result.textStream) text += delta;
    expect(text).toBe("All done");
    expect(resultsOf(model)).toMatchObject(RESULTS);
  });

  test("tools of the same name never clash, and each calls its own server", async () => {
    for (const prefix of [true, false]) {
      await using other = openWorkshop({ prefix });
      const tools = await toAiSdkTools(other.toolport, { only: ["search"], forModel: false });
      const names = Object.keys(tools);
      expect(names).toHaveLength(3);
      const model = scriptedAiSdkModel([names.map((name) => ({ name, args: {} })), "done"]);
      await generateText({ model, tools, stopWhen, prompt });
      expect(resultsOf(model)).toMatchObject([{ value: "math" }, { value: "lab" }, { value: "art" }]);
    }
  });
});

describe("a call", () => {
  test.each(["generateText", "streamText"])(
    "that is aborted during %s is cancelled on the server",
    async (way) => {
      await using workshop = openWorkshop();
      const { started, stopped } = workshop.waiting();
      const stop = new AbortController();
      const tools = await toAiSdkTools(workshop.toolport);
      const model = scriptedAiSdkModel([[{ name: "lab__wait", args: {} }], "done"]);
      const options = { model, tools, stopWhen, prompt, abortSignal: stop.signal };
      const running =
        way === "generateText"
          ? generateText(options)
          : streamText({ ...options, onError: () => {} }).consumeStream();
      const outcome = Promise.resolve(running).catch((error: unknown) => error);
      await started;
      stop.abort();
      await stopped;
      await outcome;
    },
  );

  test("carries the model's call id and the program's context", async () => {
    const seen: unknown[] = [];
    await using workshop = openWorkshop({
      interceptors: [
        (next) => (call) => {
          seen.push(call.options.meta, call.options.context);
          return next(call);
        },
      ],
    });
    const tools = await toAiSdkTools(workshop.toolport, { meta: { mine: 1 } });
    const model = scriptedAiSdkModel([[{ name: "math__add", args: { a: 1, b: 1 } }], "done"]);
    await generateText({ model, tools, stopWhen, prompt, experimental_context: { user: "ada" } });
    expect(seen).toEqual([{ "toolport/tool-call-id": "1-0", mine: 1 }, { user: "ada" }]);
  });

  test("reports progress as preliminary results on request", async () => {
    await using workshop = openWorkshop();
    const tools = await toAiSdkTools(workshop.toolport, { progress: true, only: ["lab__boil"] });
    const model = scriptedAiSdkModel([[{ name: "lab__boil", args: {} }], "done"]);
    const results: [boolean, string][] = [];
    for await (const part of streamText({ model, tools, stopWhen, prompt }).fullStream)
      if (part.type === "tool-result")
        results.push([part.preliminary === true, (part.output as AiSdkToolResult).text]);
    expect(results.map(([, text]) => text)).toEqual(["warming up", "2 of 2", "boiled", "boiled"]);
    expect(results.at(-1)).toEqual([false, "boiled"]);
    expect(resultsOf(model)).toMatchObject([{ type: "text", value: "boiled" }]);
  });

  test("with progress ends when the consumer stops iterating", async () => {
    await using workshop = openWorkshop();
    const tools = await toAiSdkTools(workshop.toolport, { progress: true, only: ["lab__wait"] });
    const results = tools["lab__wait"]!.execute!(
      {},
      { toolCallId: "1", messages: [] },
    ) as AsyncIterable<object>;
    for await (const result of results) {
      expect(result).toMatchObject({ text: "warming up", progress: { progress: 1, total: 4 } });
      break;
    }
    await workshop.waiting().stopped;
  });
});

describe("schemas", () => {
  test("are the server's own, or those for the named provider", async () => {
    await using workshop = openWorkshop();
    const [info] = await workshop.toolport.tools({ only: ["math__add"] });
    const tools = await toAiSdkTools(workshop.toolport, { only: ["math__add"] });
    expect(await asSchema(tools["math__add"]!.inputSchema).jsonSchema).toEqual(info!.inputSchema);
    expect(await asSchema(tools["math__add"]!.outputSchema).jsonSchema).toMatchObject({
      properties: { structuredContent: info!.outputSchema },
    });
    const schema = "gemini-openapi";
    const derived = await toAiSdkTools(workshop.toolport, { only: ["math__add"], schema });
    expect(await asSchema(derived["math__add"]!.inputSchema).jsonSchema).toMatchObject({ type: "OBJECT" });
  });

  test("from the caller type the tools and validate the results", async () => {
    await using workshop = openWorkshop();
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    const tools = await toAiSdkTools(workshop.toolport, {
      schemas: {
        math__add: { inputSchema, outputSchema: z.object({ sum: z.number() }) },
        lab__boil: { inputSchema: jsonSchema<{ hot: boolean }>({ type: "object" }) },
      },
    });
    expectTypeOf(tools).toHaveProperty("math__add");
    expectTypeOf(tools.math__add.execute!).parameter(0).toEqualTypeOf<{ a: number; b: number }>();
    expectTypeOf(tools.lab__boil.execute!).parameter(0).toEqualTypeOf<{ hot: boolean }>();
    expect(Object.keys(tools)).toEqual(["math__add", "lab__boil"]);
    const model = scriptedAiSdkModel([[{ name: "math__add", args: { a: 1, b: 2 } }], "done"]);
    const { steps } = await generateText({ model, tools, stopWhen, prompt });
    const [first] = steps[0]!.staticToolResults;
    if (first?.toolName !== "math__add") throw new Error("It should be static");
    expectTypeOf(first.output.structuredContent).toEqualTypeOf<{ sum: number } | undefined>();
    expect(first.output.structuredContent).toEqual({ sum: 3 });
    const wrong = await toAiSdkTools(workshop.toolport, {
      schemas: { math__add: { inputSchema, outputSchema: z.object({ sum: z.string() }) } },
    });
    const call = Promise.resolve(wrong.math__add.execute!({ a: 1, b: 2 }, { toolCallId: "1", messages: [] }));
    expect(await failure(call)).toMatchObject({ code: "INVALID_OUTPUT", server: "math" });
    const missing = toAiSdkTools(workshop.toolport, { schemas: { nowhere: { inputSchema } } });
    expect(await failure(missing)).toMatchObject({ code: "TOOL_NOT_FOUND" });
  });
});

test.each([
  ["destructive", [false, false, true]],
  ["writes", [false, true, true]],
  [true, [true, true, true]],
  [undefined, [undefined, undefined, undefined]],
] as const)("approval by %s", async (needsApproval, expected) => {
  await using workshop = openWorkshop();
  const tools = await toAiSdkTools(workshop.toolport, { needsApproval });
  expect(["math__add", "lab__fail", "lab__boil"].map((name) => tools[name]?.needsApproval)).toEqual(expected);
});

test("a function decides about approval, and a call without approval is not made", async () => {
  await using workshop = openWorkshop();
  const tools = await toAiSdkTools(workshop.toolport, {
    needsApproval: ({ server }, input) => server === "math" && (input as { a: number }).a > 100,
  });
  const script = [
    [
      { name: "math__add", args: { a: 101, b: 1 } },
      { name: "math__add", args: { a: 1, b: 1 } },
    ],
  ];
  const { content } = await generateText({ model: scriptedAiSdkModel(script), tools, prompt });
  expect(content.filter(({ type }) => type === "tool-approval-request")).toHaveLength(1);
  expect(workshop.servers.math.calls).toMatchObject([{ args: { a: 1 } }]);
});
