/** The loops of OpenAI, Anthropic and Gemini with calls that wait for a person, through the real clients. */
import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Toolport } from "toolport";
import { resumeAnthropicToolCalls, runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { resumeGeminiToolCalls, runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import {
  type OpenAIRunOptions,
  type OpenAIToolMessage,
  type ResumeAnswers,
  type ResumedRun,
  resumeOpenAIToolCalls,
  runOpenAIToolCalls,
  type SuspendedRun,
  toOpenAITools,
} from "toolport/openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type RequestBody,
  type ScriptedTurn,
  startModelDouble,
} from "../../packages/adapters/test/model-double.js";
import {
  anthropicProblems,
  geminiProblems,
  openAIChatProblems,
  openAIResponsesProblems,
} from "../../packages/adapters/test/provider-rules.js";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";

type PendingCall = SuspendedRun<unknown>["pending"][number];
type Decide = (pending: readonly PendingCall[]) => ResumeAnswers;

/** Continues a run until nothing waits. Between two steps it is JSON, as in a database. */
async function finish<Message>(
  begun: SuspendedRun<Message>,
  resume: (run: SuspendedRun<Message>, answers: ResumeAnswers) => Promise<ResumedRun<Message>>,
  decide: Decide,
): Promise<Message[]> {
  let run = begun;
  while (run.pending.length > 0) {
    const saved = JSON.parse(JSON.stringify(run)) as SuspendedRun<Message>;
    run = await resume(saved, decide(saved.pending));
  }
  return run.messages;
}

interface LoopParts {
  readonly url: string;
  readonly toolport: Toolport;
  readonly decide: Decide;
}
interface Loop {
  run(parts: LoopParts): Promise<string | null | undefined>;
  problems(request: RequestBody): string[];
}

const suspend = true;
const prompt = "Book";

const LOOPS: Record<string, Loop> = {
  "OpenAI chat": {
    problems: openAIChatProblems,
    async run({ url, toolport, decide }) {
      const client = new OpenAI({ apiKey: "test", baseURL: `${url}/v1`, maxRetries: 0 });
      const tools = await toOpenAITools(toolport);
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: prompt }];
      for (;;) {
        const { choices } = await client.chat.completions.create({ model: "gpt-5", messages, tools });
        const { message } = choices[0]!;
        const run = await runOpenAIToolCalls(toolport, message, { suspend });
        const results = await finish(
          run,
          (saved, answers) => resumeOpenAIToolCalls(toolport, saved, answers),
          decide,
        );
        if (results.length === 0) return message.content;
        messages.push(message, ...results);
      }
    },
  },
  "OpenAI responses": {
    problems: openAIResponsesProblems,
    async run({ url, toolport, decide }) {
      const client = new OpenAI({ apiKey: "test", baseURL: `${url}/v1`, maxRetries: 0 });
      const tools = await toOpenAITools(toolport, { api: "responses" });
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: prompt }];
      for (;;) {
        const response = await client.responses.create({ model: "gpt-5", input, tools });
        const run = await runOpenAIToolCalls(toolport, response, { suspend });
        const results = await finish(
          run,
          (saved, answers) => resumeOpenAIToolCalls(toolport, saved, answers),
          decide,
        );
        if (results.length === 0) return response.output_text;
        input.push(...(response.output as OpenAI.Responses.ResponseInput), ...results);
      }
    },
  },
  Anthropic: {
    problems: anthropicProblems,
    async run({ url, toolport, decide }) {
      const client = new Anthropic({ apiKey: "test", baseURL: url, maxRetries: 0 });
      const tools = await toAnthropicTools(toolport);
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: prompt }];
      for (;;) {
        const message = await client.messages.create({
          model: "claude-test",
          max_tokens: 99,
          messages,
          tools,
        });
        const run = await runAnthropicToolCalls(toolport, message, { suspend });
        const results = await finish(
          run,
          (saved, answers) => resumeAnthropicToolCalls(toolport, saved, answers),
          decide,
        );
        if (results.length === 0)
          return message.content.map((block) => ("text" in block ? block.text : "")).join("");
        messages.push(
          { role: "assistant", content: message.content as Anthropic.ContentBlockParam[] },
          ...results,
        );
      }
    },
  },
  Gemini: {
    problems: geminiProblems,
    async run({ url, toolport, decide }) {
      const client = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: url } });
      const config = { tools: await toGeminiTools(toolport) };
      const contents: Content[] = [{ role: "user", parts: [{ text: prompt }] }];
      for (;;) {
        const response = await client.models.generateContent({ model: "gemini-3-pro", contents, config });
        const run = await runGeminiToolCalls(toolport, response, { suspend });
        const results = await finish(
          run,
          (saved, answers) => resumeGeminiToolCalls(toolport, saved, answers),
          decide,
        );
        if (results.length === 0) return response.text;
        contents.push(response.candidates![0]!.content!, ...results);
      }
    },
  },
};

const call = (tool: string, to: string) => ({ name: `travel__${tool}`, args: { to } });
const seat = { action: "accept" as const, content: { seat: "12A" } };
const pay = { action: "accept" as const, content: { pay: true } };
const SCRIPT: ScriptedTurn[] = [
  [
    call("book", "Oslo"),
    call("note", "Rome"),
    call("tour", "Kiel"),
    call("book", "Bern"),
    call("note", "Wien"),
  ],
  "All done",
];

/** Answers the last call that waits, so that results come in another order than the calls. */
const lastFirst: Decide = (pending) => {
  const { token, requests } = pending.at(-1)!;
  const decision: ResumeAnswers[string] = { answers: "pay" in requests ? { pay } : { seat } };
  return { [token]: decision };
};

describe.each(Object.entries(LOOPS))("%s", (_name, { run, problems }) => {
  test("finishes calls in any order, and sends the results in the order of the calls", async () => {
    await using scene = openBooking();
    await using double = await startModelDouble(SCRIPT);
    const { toolport, seen } = scene;
    expect(await run({ url: double.url, toolport, decide: lastFirst })).toBe("All done");
    expect(double.requests).toHaveLength(2);
    expect(double.requests.flatMap(problems)).toEqual([]);
    const sent = JSON.stringify(double.requests[1]);
    const places = ["booked Oslo", "noted Rome", "toured Kiel", "booked Bern", "noted Wien"].map((text) =>
      sent.indexOf(text),
    );
    expect(places.every((place, index) => place > (places[index - 1] ?? 0))).toBe(true);
    expect(sent).not.toContain("tpc1.");
    expect(seen.requests).toBe(2 + 1 + 3 + 2 + 1);
    expect(await toolport.suspended()).toEqual([]);
  });

  test("tells the model that a call was refused", async () => {
    await using scene = openBooking({ approve: { when: "always" } });
    await using double = await startModelDouble([[call("note", "Oslo"), call("note", "Rome")], "All done"]);
    const decide: Decide = (pending) =>
      Object.fromEntries(pending.map(({ token, args }) => [token, { approve: args["to"] === "Oslo" }]));
    expect(await run({ url: double.url, toolport: scene.toolport, decide })).toBe("All done");
    expect(double.requests.flatMap(problems)).toEqual([]);
    expect(JSON.stringify(double.requests[1])).toMatch(/noted Oslo.*REFUSED/);
    expect(scene.seen.booked).toEqual([{ to: "Oslo" }]);
  });
});

/** A message of the chat API, as a model with simple ids writes it. */
const message = (calls: { id: string; tool: string; to: string }[]) => ({
  tool_calls: calls.map(({ id, tool, to }) => ({
    id,
    type: "function",
    function: { name: `travel__${tool}`, arguments: JSON.stringify({ to }) },
  })),
});
const contentsOf = ({ messages }: SuspendedRun<OpenAIToolMessage>) => messages.map(({ content }) => content);
const NOTE = message([{ id: "call_1", tool: "note", to: "Oslo" }]);

describe("a key", () => {
  test("makes a repeated run find its calls: waiting, then with their results", async () => {
    await using scene = openBooking();
    const { toolport, seen } = scene;
    const both = message([
      { id: "call_1", tool: "note", to: "Oslo" },
      { id: "call_2", tool: "book", to: "Oslo" },
    ]);
    const run = () => runOpenAIToolCalls(toolport, both, { suspend: { key: "chat 1/response 1" } });
    const [first, again] = await Promise.all([run(), run()]);
    expect(again).toEqual(first);
    expect(first).toMatchObject({
      messages: [{ tool_call_id: "call_1", content: "noted Oslo" }],
      pending: [{ reason: "input", call: { id: "call_2" }, index: 1 }],
    });
    expect(seen.requests).toBe(2);
    const done = await resumeOpenAIToolCalls(toolport, first, {
      [first.pending[0]!.token]: { answers: { seat } },
    });
    expect(await run()).toEqual({ messages: done.messages, pending: [] });
    expect(seen.requests).toBe(3);
  });

  test("of one response does not return the result of another with the same ids", async () => {
    await using scene = openBooking();
    const { toolport, seen } = scene;
    for (const key of ["chat 1/1", "chat 1/2", "chat 2/1"])
      await runOpenAIToolCalls(toolport, NOTE, { suspend: { key } });
    await runOpenAIToolCalls(toolport.as("bob"), NOTE, { suspend: { key: "chat 1/1" } });
    expect(seen.requests).toBe(4);
    // Without a key, the ids of the model mean nothing.
    for (const suspend of [true, {}] as const) await runOpenAIToolCalls(toolport, NOTE, { suspend });
    expect(seen.requests).toBe(6);
  });

  test("sends two calls of one response that have the same id", async () => {
    await using scene = openBooking();
    const twice = message([1, 2].map(() => ({ id: "call_1", tool: "note", to: "Oslo" })));
    for (let times = 0; times < 2; times += 1)
      expect(contentsOf(await runOpenAIToolCalls(scene.toolport, twice, { suspend: { key: "a" } }))).toEqual([
        "noted Oslo",
        "noted Oslo",
      ]);
    expect(scene.seen.requests).toBe(2);
  });

  test("with changed arguments sends nothing, and the model gets an error", async () => {
    await using scene = openBooking();
    const { toolport, seen } = scene;
    await runOpenAIToolCalls(toolport, NOTE, { suspend: { key: "a" } });
    const changed = message([{ id: "call_1", tool: "note", to: "Rome" }]);
    expect(contentsOf(await runOpenAIToolCalls(toolport, changed, { suspend: { key: "a" } }))).toEqual([
      expect.stringContaining("KEY_REUSED"),
    ]);
    expect(seen.requests).toBe(1);
  });

  test("cannot be used for calls without ids: nothing is sent", async () => {
    await using scene = openBooking();
    const parts = [
      { functionCall: call("note", "Oslo") },
      { functionCall: { id: "1", ...call("note", "Oslo") } },
    ];
    const running = runGeminiToolCalls(scene.toolport, { parts }, { suspend: { key: "a" } });
    expect(await failure(running)).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
    expect(scene.seen.requests).toBe(0);
  });
});

describe("resume", () => {
  const BOOK = message([
    { id: "call_1", tool: "book", to: "Oslo" },
    { id: "call_2", tool: "book", to: "Rome" },
  ]);

  test("keeps a call whose answer does not fit, and the results of the others", async () => {
    await using scene = openBooking();
    const { toolport } = scene;
    const run = await runOpenAIToolCalls(toolport, BOOK, { suspend: true });
    const [oslo, rome] = run.pending as [PendingCall, PendingCall];
    const short = { answers: { seat: { action: "accept" as const, content: { seat: "1" } } } };
    const next = await resumeOpenAIToolCalls(toolport, run, {
      [oslo.token]: short,
      [rome.token]: { answers: { seat } },
      "tpc1.other": { answers: { seat } },
    });
    expect(next).toMatchObject({
      messages: [{ tool_call_id: "call_2", content: expect.stringContaining("booked Rome") }],
      pending: [oslo],
      errors: [{ token: oslo.token, error: { code: "INVALID_ARGUMENTS" } }],
    });
  });

  test("sends nothing for used tokens and other users; the model reads why there is no result", async () => {
    await using scene = openBooking();
    const { toolport, seen } = scene;
    const run = await runOpenAIToolCalls(toolport.as("alice"), BOOK, { suspend: true });
    const answers = { [run.pending[0]!.token]: { answers: { seat } } };
    const bob = await resumeOpenAIToolCalls(toolport.as("bob"), run, answers);
    const alice = await resumeOpenAIToolCalls(toolport.as("alice"), run, answers);
    const again = await resumeOpenAIToolCalls(toolport.as("alice"), run, answers);
    expect([bob, alice, again].map(contentsOf)).toEqual([
      [expect.stringContaining("no longer waits")],
      [expect.stringContaining("booked Oslo")],
      [expect.stringContaining("no longer waits")],
    ]);
    expect(seen.booked).toHaveLength(1);
  });
});

test("without suspend the types are unchanged", async () => {
  await using scene = openBooking();
  const options: OpenAIRunOptions = {};
  const plain = await runOpenAIToolCalls(scene.toolport, NOTE, options);
  expectTypeOf(plain).toEqualTypeOf<OpenAIToolMessage[]>();
  const waiting = await runOpenAIToolCalls(scene.toolport, NOTE, { ...options, suspend: true });
  expectTypeOf(waiting).toEqualTypeOf<SuspendedRun<OpenAIToolMessage>>();
});
