/** OpenAI's client with Toolport, in both APIs, streaming and not, against a local double. */
import OpenAI from "openai";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { describe, expect, test } from "vitest";
import { type ModelDouble, startModelDouble } from "./model-double.js";
import { openAIChatProblems, openAIResponsesProblems } from "./provider-rules.js";
import { AGENT_SCRIPT, openWorkshop, PIXEL, type Workshop } from "./workshop.js";

const clientOf = ({ url }: ModelDouble) =>
  new OpenAI({ apiKey: "test", baseURL: `${url}/v1`, maxRetries: 0 });
const MODEL = "gpt-5";

async function chat(
  { toolport }: Workshop,
  double: ModelDouble,
  options: { stream: boolean; strict: boolean },
) {
  const client = clientOf(double);
  const tools = await toOpenAITools(toolport, { strict: options.strict });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Do your work" }];
  for (let turn = 0; turn < 10; turn += 1) {
    const request = { model: MODEL, messages: [...messages], tools };
    const message = options.stream
      ? await client.chat.completions.stream(request).finalMessage()
      : (await client.chat.completions.create(request)).choices[0]!.message;
    messages.push(message);
    const answers = await runOpenAIToolCalls(toolport, message, { tools });
    if (answers.length === 0) return message.content;
    messages.push(...answers);
  }
  throw new Error("The model did not come to an end");
}

async function respond(
  { toolport }: Workshop,
  double: ModelDouble,
  options: { stream: boolean; strict: boolean },
) {
  const client = clientOf(double);
  const tools = await toOpenAITools(toolport, { api: "responses", strict: options.strict });
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Do your work" }];
  for (let turn = 0; turn < 10; turn += 1) {
    const request = { model: MODEL, input: [...input], tools };
    const response = options.stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    const answers = await runOpenAIToolCalls(toolport, response, { tools });
    if (answers.length === 0) return response.output_text;
    input.push(...answers);
  }
  throw new Error("The model did not come to an end");
}

const KINDS = [
  { stream: false, strict: false },
  { stream: true, strict: false },
  { stream: false, strict: true },
];

describe.each(KINDS)("stream: $stream, strict: $strict", (kind) => {
  test("a chat with single and parallel calls, failures and an image", async () => {
    await using workshop = openWorkshop();
    await using double = await startModelDouble(AGENT_SCRIPT);
    expect(await chat(workshop, double, kind)).toBe("All done");
    expect(double.requests).toHaveLength(5);
    expect(double.requests.flatMap(openAIChatProblems)).toEqual([]);
    const { messages, tools } = double.requests.at(-1);
    // With read_artifact.
    expect(tools).toHaveLength(110);
    const strict = tools.filter((tool: OpenAI.ChatCompletionFunctionTool) => tool.function.strict);
    expect(strict.length > 0).toBe(kind.strict);
    const answers = messages.filter(({ role }: { role: string }) => role === "tool");
    expect(answers.map(({ content }: { content: string }) => content)).toEqual([
      '{"sum":5}',
      "Ada met the other",
      "Bob met the other",
      "Error: The flask broke",
      expect.stringMatching(/^Error: .*no tool named "lab__vanish".*\(TOOL_NOT_FOUND\)$/s),
      expect.stringMatching(/^Error: .*\(INVALID_ARGUMENTS\)$/s),
      "A pixel\n[image, image/png, 70 bytes] (in the next user message)",
    ]);
    expect(messages.at(-1)).toEqual({
      role: "user",
      content: [
        { type: "text", text: "What art__picture answered:" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ],
    });
  });

  test("responses with single and parallel calls, failures and an image", async () => {
    await using workshop = openWorkshop();
    await using double = await startModelDouble(AGENT_SCRIPT);
    expect(await respond(workshop, double, kind)).toBe("All done");
    expect(double.requests.flatMap(openAIResponsesProblems)).toEqual([]);
    const outputs = double.requests
      .at(-1)
      .input.filter(({ type }: { type: string }) => type === "function_call_output")
      .map(({ output }: { output: unknown }) => output);
    expect(outputs).toEqual([
      '{"sum":5}',
      "Ada met the other",
      "Bob met the other",
      "Error: The flask broke",
      expect.stringContaining("TOOL_NOT_FOUND"),
      expect.stringContaining("INVALID_ARGUMENTS"),
      [
        { type: "input_text", text: "A pixel" },
        { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
      ],
    ]);
  });
});

test("values that strict mode forces the model to send are removed before the call", async () => {
  await using workshop = openWorkshop();
  const { toolport, servers } = workshop;
  const tools = await toOpenAITools(toolport, { strict: true, only: ["math__add"], forModel: false });
  expect(tools).toMatchObject([{ function: { name: "math__add", strict: true } }]);
  const ask = (args: object) => ({
    tool_calls: [
      { id: "1", type: "function", function: { name: "math__add", arguments: JSON.stringify(args) } },
    ],
  });
  const answers = await runOpenAIToolCalls(toolport, ask({ a: 1, b: 2, round: null }), { tools });
  expect(answers).toEqual([{ role: "tool", tool_call_id: "1", content: '{"sum":3}' }]);
  expect(servers.math.calls).toMatchObject([{ args: { a: 1, b: 2 } }]);
  expect(servers.math.calls[0]?.args).not.toHaveProperty("round");
});

test("a schema that strict mode cannot express is sent without it, and reported", async () => {
  await using workshop = openWorkshop();
  const reports: string[] = [];
  const onChange = ({
    tool,
    strict,
    changes,
  }: {
    tool: string;
    strict: boolean;
    changes: readonly object[];
  }) => void reports.push(`${tool} ${strict} ${changes.length > 0}`);
  const tools = await toOpenAITools(workshop.toolport, {
    strict: true,
    servers: ["math"],
    onChange,
    forModel: false,
  });
  expect(tools.map(({ function: { name, strict } }) => [name, strict ?? false])).toEqual([
    ["math__add", true],
    ["math__search", false],
  ]);
  expect(reports).toEqual(["math__add true true", "math__search false true"]);
});

test("bad JSON, a call of another kind and the old function_call are answered too", async () => {
  await using workshop = openWorkshop();
  const call = (id: string, text: string) => ({
    id,
    type: "function",
    function: { name: "math__add", arguments: text },
  });
  const reported: string[] = [];
  const message = {
    tool_calls: [
      call("1", '{"a": 1,'),
      call("2", "[1, 2]"),
      { id: "3", type: "custom" },
      call("4", '{"a":1,"b":1}'),
    ],
  };
  const answers = await runOpenAIToolCalls(workshop.toolport, message, {
    onError: ({ code, outcome }, { id }) => reported.push(`${id} ${code} ${outcome}`),
  });
  expect(reported.toSorted()).toEqual([
    "1 INVALID_ARGUMENTS unsent",
    "2 INVALID_ARGUMENTS unsent",
    "3 TOOL_NOT_FOUND unsent",
  ]);
  expect(answers).toEqual([
    {
      role: "tool",
      tool_call_id: "1",
      content: expect.stringMatching(
        /^Error: \[math\/add\] Nothing was sent: the arguments are not valid JSON: /,
      ),
    },
    {
      role: "tool",
      tool_call_id: "2",
      content: expect.stringContaining("Nothing was sent: the arguments are not a JSON object"),
    },
    { role: "tool", tool_call_id: "3", content: expect.stringContaining("TOOL_NOT_FOUND") },
    { role: "tool", tool_call_id: "4", content: '{"sum":2}' },
  ]);
  const old = { function_call: { name: "math__add", arguments: '{"a":1,"b":2}' } };
  expect(await runOpenAIToolCalls(workshop.toolport, old)).toEqual([
    { role: "function", name: "math__add", content: '{"sum":3}' },
  ]);
  expect(await runOpenAIToolCalls(workshop.toolport, { tool_calls: null })).toEqual([]);
});
