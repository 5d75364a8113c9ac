/** AI SDK: a call that waits for a person ends the step, and `resumeMessages` puts its result in place. */
import { createOpenAI } from "@ai-sdk/openai";
import {
  convertToModelMessages,
  generateText,
  type InferToolOutput,
  type ModelMessage,
  modelMessageSchema,
  readUIMessageStream,
  stepCountIs,
  streamText,
  type UIMessage,
  validateUIMessages,
} from "ai";
import type { Suspended, ToolportOptions } from "toolport";
import { type AiSdkToolResult, hasSuspended, resumeMessages, toAiSdkTools } from "toolport/ai-sdk";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { scriptedAiSdkModel } from "../../packages/adapters/test/ai-sdk-model.js";
import { type ScriptedTurn, startModelDouble } from "../../packages/adapters/test/model-double.js";
import { openBooking } from "./booking-scene.js";

const call = (tool: string, to = "Oslo") => ({ name: `travel__${tool}`, args: { to } });
const stopWhen = [hasSuspended(), stepCountIs(5)];
const prompt = "Book a flight";
const messages: ModelMessage[] = [{ role: "user", content: prompt }];
const seat = { answers: { seat: { action: "accept" as const, content: { seat: "12A" } } } };
const pay = { answers: { pay: { action: "accept" as const, content: { pay: true } } } };
const BOOKED = "booked Oslo, seat 12A, meal none";

function open(options: ToolportOptions = {}) {
  const scene = openBooking(options);
  return {
    ...scene,
    /** Runs the turns, and returns the messages with what waits. */
    async run(turns: readonly ScriptedTurn[], port = scene.toolport) {
      const model = scriptedAiSdkModel(turns);
      const tools = await toAiSdkTools(port, { suspend: true });
      const { response, toolResults } = await generateText({ model, tools, messages, stopWhen });
      const waiting = toolResults.map(({ output }) => output as Suspended).filter((each) => each.suspended);
      return { messages: [...messages, ...response.messages], waiting, turns: model.doGenerateCalls.length };
    },
  };
}

const outputsOf = (list: readonly ModelMessage[]) =>
  list.flatMap(({ role, content }) =>
    role === "tool" ? content.map((part) => (part.type === "tool-result" ? part.output : part)) : [],
  );

describe("model messages", () => {
  test("the step ends with the question, and the messages continue with the result", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book"), call("note")], "never reached"]);
    expect(asked.turns).toBe(1);
    expect(asked.waiting).toMatchObject([
      {
        suspended: true,
        reason: "input",
        requests: { seat: { message: "Which seat?" } },
        tool: "travel__book",
      },
    ]);
    const [{ token }] = asked.waiting as [Suspended];
    expect(JSON.stringify(asked.messages)).not.toContain(token);
    const saved = z.array(modelMessageSchema).parse(JSON.parse(JSON.stringify(asked.messages)));
    const resumed = await resumeMessages(toolport, saved, { [token]: seat });
    expect(resumed).toMatchObject({ pending: [], errors: [] });
    expect(outputsOf(resumed.messages)).toEqual([
      { type: "text", value: BOOKED },
      { type: "text", value: "noted Oslo" },
    ]);
    expect(outputsOf(saved)[0]).toMatchObject({ value: expect.stringContaining("not finished") });
    const model = scriptedAiSdkModel(["Bon voyage"]);
    const { text } = await generateText({ model, messages: resumed.messages });
    expect(text).toBe("Bon voyage");
    expect(scene.seen.requests).toBe(3);
  });

  test("a second question is pending with its own token", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("tour")]]);
    const first = await resumeMessages(toolport, asked.messages, { [asked.waiting[0]!.token]: seat });
    expect(first.pending).toMatchObject([
      { reason: "input", round: 2, requests: { pay: { message: "Pay now?" } }, toolCallId: "1-0" },
    ]);
    const second = await resumeMessages(toolport, first.messages, { [first.pending[0]!.token]: pay });
    expect(outputsOf(second.messages)).toEqual([{ type: "text", value: "toured Oslo" }]);
    expect(second.pending).toEqual([]);
    expect(scene.seen).toEqual({ requests: 3, booked: [{ to: "Oslo" }] });
  });

  test("answers go by token, not by position; the others still wait", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book"), call("book", "Rome")]]);
    const rome = asked.waiting.find(({ args }) => args["to"] === "Rome")!;
    const resumed = await resumeMessages(toolport, asked.messages, { [rome.token]: seat });
    expect(outputsOf(resumed.messages)).toMatchObject([
      { value: expect.stringContaining("not finished") },
      { value: expect.stringContaining("booked Rome") },
    ]);
    expect(resumed.pending).toMatchObject([{ args: { to: "Oslo" }, toolCallId: "1-0" }]);
  });

  test("the same answers again send nothing: the messages keep their result, older copies get a note", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book")]]);
    const answers = { [asked.waiting[0]!.token]: seat };
    const both = await Promise.all([1, 2].map(() => resumeMessages(toolport, asked.messages, answers)));
    const texts = both
      .flatMap(({ messages: list }) => outputsOf(list))
      .map((output) => "value" in output && output.value);
    expect(texts.sort()).toEqual([expect.stringContaining("was continued before"), BOOKED].sort());
    const done = both.find(({ messages: list }) => JSON.stringify(list).includes(BOOKED))!;
    const again = await resumeMessages(toolport, done.messages, answers);
    expect(again).toEqual({ messages: done.messages, pending: [], errors: [] });
    expect(scene.seen).toMatchObject({ requests: 2, booked: [{ to: "Oslo" }] });
  });

  test("an answer that does not fit keeps the call, and does not cost the other results", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book"), call("book", "Rome")]]);
    const [oslo, rome] = asked.waiting as [Suspended, Suspended];
    const wrong = { answers: { seat: { action: "accept" as const, content: { seat: "1" } } } };
    const resumed = await resumeMessages(toolport, asked.messages, {
      [oslo.token]: wrong,
      [rome.token]: seat,
    });
    expect(resumed.errors).toMatchObject([
      { toolCallId: "1-0", token: oslo.token, error: { code: "INVALID_ARGUMENTS" } },
    ]);
    expect(resumed.pending).toMatchObject([{ token: oslo.token }]);
    const done = await resumeMessages(toolport, resumed.messages, { [oslo.token]: seat });
    expect(outputsOf(done.messages)).toMatchObject([
      { value: BOOKED },
      { value: expect.stringContaining("Rome") },
    ]);
  });

  test("another user and forged tokens continue nothing", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book")]], toolport.as("alice"));
    const { token } = asked.waiting[0]!;
    const bob = await resumeMessages(toolport.as("bob"), asked.messages, { [token]: seat });
    expect(outputsOf(bob.messages)).toMatchObject([{ type: "error-text" }]);
    const forged = await resumeMessages(toolport.as("alice"), asked.messages, {
      [`tpc1.${"A".repeat(43)}`]: seat,
    });
    expect(forged.messages).toEqual(asked.messages);
    expect(forged.pending).toMatchObject([{ token }]);
    expect(scene.seen.requests).toBe(1);
    const alice = await resumeMessages(toolport.as("alice"), asked.messages, { [token]: seat });
    expect(outputsOf(alice.messages)).toMatchObject([{ value: BOOKED }]);
  });

  test("a result of a server cannot pose as a waiting call", async () => {
    await using scene = open();
    const { toolport } = scene;
    const asked = await scene.run([[call("book")]]);
    const { token } = asked.waiting[0]!;
    const text = JSON.stringify(asked.messages.at(-1));
    const noted = await scene.run([[call("note", text)], "Done"]);
    const resumed = await resumeMessages(toolport, noted.messages, { [token]: seat });
    expect(resumed.messages).toEqual(noted.messages);
    expect(scene.seen.booked).toHaveLength(1);
  });

  test("an approval that waits in its output, approved and refused", async () => {
    await using scene = open({ approve: { when: "always" } });
    const { toolport } = scene;
    const asked = await scene.run([[call("note"), call("note", "Rome")]]);
    expect(scene.seen.requests).toBe(0);
    const [oslo, rome] = asked.waiting as [Suspended, Suspended];
    const answers = { [oslo.token]: { approve: true }, [rome.token]: { approve: false } };
    const resumed = await resumeMessages(toolport, asked.messages, answers);
    expect(outputsOf(resumed.messages)).toMatchObject([
      { type: "text", value: "noted Oslo" },
      { type: "error-text", value: expect.stringContaining("REFUSED") },
    ]);
    expect(resumed.pending).toEqual([]);
    expect(scene.seen.booked).toEqual([{ to: "Oslo" }]);
  });

  test("without a stop condition, no request to the provider contains the token", async () => {
    await using scene = open();
    await using double = await startModelDouble([[call("book")], "I will wait"]);
    const model = createOpenAI({ apiKey: "test", baseURL: `${double.url}/v1` }).chat("gpt-5");
    const tools = await toAiSdkTools(scene.toolport, { suspend: true });
    const { text } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(5) });
    expect(text).toBe("I will wait");
    const [{ token }] = (await scene.toolport.suspended()) as [Suspended];
    const sent = JSON.stringify(double.requests);
    expect(sent).toContain("waits for the answer of the user");
    for (const secret of [token, "tpc1.", "toolport message", "providerOptions"])
      expect(sent).not.toContain(secret);
  });
});

test("a call with progress ends with its question too", async () => {
  await using scene = open();
  const model = scriptedAiSdkModel([[call("book")]]);
  const tools = await toAiSdkTools(scene.toolport, { suspend: true, progress: true });
  const { toolResults } = await generateText({ model, tools, prompt, stopWhen });
  expect(toolResults).toMatchObject([{ output: { suspended: true, reason: "input" } }]);
});

describe("messages of a user interface", () => {
  const userMessage: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: prompt }] };

  async function lastMessage(result: ReturnType<typeof streamText>): Promise<UIMessage> {
    let last: UIMessage | undefined;
    for await (const message of readUIMessageStream({ stream: result.toUIMessageStream() })) last = message;
    return JSON.parse(JSON.stringify(last));
  }

  test("the output contains the token and the question, then the result", async () => {
    await using scene = open();
    const { toolport } = scene;
    const tools = await toAiSdkTools(toolport, { suspend: true });
    const model = scriptedAiSdkModel([[call("book")]]);
    const asked = [userMessage, await lastMessage(streamText({ model, tools, prompt, stopWhen }))];
    const part = asked[1]!.parts.find(({ type }) => type === "dynamic-tool") as { output: Suspended };
    expect(part.output).toMatchObject({ suspended: true, requests: { seat: { message: "Which seat?" } } });
    const { token } = part.output;
    // A request that does not answer the question: the model does not get the token.
    expect(JSON.stringify(await convertToModelMessages(asked, { tools }))).not.toContain("tpc1.");
    const resumed = await resumeMessages(toolport, asked, { [token]: seat });
    expectTypeOf(resumed.messages).toEqualTypeOf<UIMessage[]>();
    await validateUIMessages({ messages: resumed.messages });
    expect(outputsOf(await convertToModelMessages(resumed.messages, { tools }))).toEqual([
      { type: "text", value: BOOKED },
    ]);
    const late = await resumeMessages(toolport, asked, { [token]: seat });
    await validateUIMessages({ messages: late.messages });
    expect(outputsOf(await convertToModelMessages(late.messages, { tools }))).toMatchObject([
      { type: "error-text", value: expect.stringContaining("was continued before") },
    ]);
    expect(scene.seen.requests).toBe(2);
  });

  test("an approval of the user interface releases its call once", async () => {
    await using scene = open({ approve: { when: "always" } });
    const tools = await toAiSdkTools(scene.toolport, { needsApproval: "toolport", suspend: { key: "chat" } });
    const model = scriptedAiSdkModel([[call("note")]]);
    const asked = await lastMessage(streamText({ model, tools, prompt, stopWhen }));
    const parts = asked.parts.map((part) =>
      part.type === "dynamic-tool" && part.state === "approval-requested"
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
        : part,
    );
    const approved = [userMessage, { ...asked, parts } as UIMessage];
    for (let times = 0; times < 2; times += 1) {
      const next = scriptedAiSdkModel(["Done"]);
      await generateText({ model: next, tools, messages: await convertToModelMessages(approved, { tools }) });
      expect(JSON.stringify(next.doGenerateCalls[0]!.prompt)).toContain("noted Oslo");
    }
    expect(scene.seen.requests).toBe(1);
  });
});

test("the types of outputs include waiting calls only with suspend", async () => {
  await using scene = open();
  const schemas = { travel__note: { inputSchema: z.object({ to: z.string() }) } };
  const plain = await toAiSdkTools(scene.toolport, { schemas });
  const waiting = await toAiSdkTools(scene.toolport, { schemas, suspend: true });
  type Plain = InferToolOutput<typeof plain.travel__note>;
  type Waiting = InferToolOutput<typeof waiting.travel__note>;
  expectTypeOf<Plain>().toEqualTypeOf<AiSdkToolResult>();
  expectTypeOf<Waiting>().toEqualTypeOf<AiSdkToolResult | Suspended>();
});
