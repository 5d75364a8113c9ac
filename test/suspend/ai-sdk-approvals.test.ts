/** AI SDK: an approval in the messages releases one saved call, once. */
import { generateText, type ModelMessage, stepCountIs, streamText } from "ai";
import { createToolport, memoryStore, type Toolport, type ToolportOptions } from "toolport";
import { type AiSdkToolsOptions, toAiSdkTools } from "toolport/ai-sdk";
import { describe, expect, test } from "vitest";
import { scriptedAiSdkModel } from "../../packages/adapters/test/ai-sdk-model.js";
import type { ScriptedTurn } from "../../packages/adapters/test/model-double.js";
import { failure } from "../support/failure.js";
import { createBookingServer } from "./booking-server.js";

const NOTE: ScriptedTurn = [{ name: "travel__note", args: { to: "Oslo" } }];
const BOOK: ScriptedTurn = [{ name: "travel__book", args: { to: "Oslo" } }];

function open({ approve = { when: "always" } }: Pick<ToolportOptions, "approve"> = {}) {
  const { server, seen } = createBookingServer();
  const store = memoryStore();
  // Two ports with one store stand for two processes.
  const ports = [1, 2].map(() => createToolport({ mcpServers: { travel: server.memory() }, store, approve }));
  return {
    toolport: ports[0]!,
    other: ports[1]!,
    seen,
    async [Symbol.asyncDispose]() {
      await Promise.all(ports.map((port) => port.close()));
      await server.close();
    },
  };
}

interface Run {
  readonly toolport: Toolport;
  readonly messages: ModelMessage[];
  readonly turns: readonly ScriptedTurn[];
  readonly chat?: string;
  readonly options?: AiSdkToolsOptions;
}

/** One request of a client: returns all messages of the conversation, and what the model got last. */
async function post({ toolport, messages, turns, chat = "chat 1", options }: Run) {
  const model = scriptedAiSdkModel(turns);
  const tools = await toAiSdkTools(toolport, {
    needsApproval: "toolport",
    suspend: { key: chat },
    ...options,
  });
  const { response, text } = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  return {
    messages: [...messages, ...response.messages],
    text,
    prompt: model.doGenerateCalls.at(-1)?.prompt,
  };
}

const user = (content = "Go on"): ModelMessage[] => [{ role: "user", content }];

/** The messages with the decision of the user about every requested approval. */
function decide(messages: readonly ModelMessage[], approved: boolean): ModelMessage[] {
  const last = messages.at(-1)!;
  const requests = (last.content as { type: string; approvalId: string }[]).filter(
    ({ type }) => type === "tool-approval-request",
  );
  const content = requests.map(({ approvalId }) => ({
    type: "tool-approval-response" as const,
    approvalId,
    approved,
  }));
  return [...messages, { role: "tool", content }];
}

/** The outputs of tools that the model got in the last turn. */
const outputsOf = ({ prompt }: Awaited<ReturnType<typeof post>>) =>
  prompt!.flatMap(({ role, content }) =>
    role === "tool" ? content.map((part) => (part.type === "tool-result" ? part.output : part)) : [],
  );

const NOTED = { type: "text", value: "noted Oslo" };
const REFUSED = (code: string) => ({ type: "error-text", value: expect.stringContaining(code) });

async function requested(scene: ReturnType<typeof open>, run: Partial<Run> = {}) {
  const asked = await post({ toolport: scene.toolport, messages: user(), turns: [NOTE], ...run });
  return { asked: asked.messages, approved: decide(asked.messages, true) };
}

describe("an approved call", () => {
  test("runs once, although the same messages are posted twice", async () => {
    await using scene = open();
    const { approved } = await requested(scene);
    expect(scene.seen.requests).toBe(0);
    for (const toolport of [scene.toolport, scene.other, scene.toolport]) {
      const done = await post({ toolport, messages: approved, turns: ["Done"] });
      expect(done.text).toBe("Done");
      expect(outputsOf(done)).toEqual([NOTED]);
    }
    expect(scene.seen).toEqual({ requests: 1, booked: [{ to: "Oslo" }] });
    expect(await scene.toolport.suspended()).toEqual([]);
  });

  test("runs once when two processes get the messages at the same time", async () => {
    await using scene = open();
    const { approved } = await requested(scene);
    const both = await Promise.all(
      [scene.toolport, scene.other].map((toolport) =>
        post({ toolport, messages: approved, turns: ["Done"] }),
      ),
    );
    expect(both.map(outputsOf)).toEqual([[NOTED], [NOTED]]);
    expect(scene.seen.requests).toBe(1);
  });

  test("runs once with streamText", async () => {
    await using scene = open();
    const { toolport } = scene;
    const tools = await toAiSdkTools(toolport, { needsApproval: "toolport", suspend: { key: "chat 1" } });
    const stream = async (messages: ModelMessage[], turns: ScriptedTurn[]) => {
      const result = streamText({ model: scriptedAiSdkModel(turns), tools, messages });
      return [...messages, ...(await result.response).messages];
    };
    const approved = decide(await stream(user(), [NOTE]), true);
    for (let times = 0; times < 2; times += 1) await stream(approved, ["Done"]);
    expect(scene.seen.requests).toBe(1);
  });

  test("asks its question after the approval, and keeps it for messages that are posted again", async () => {
    await using scene = open();
    const { approved } = await requested(scene, { turns: [BOOK] });
    for (let times = 0; times < 2; times += 1) {
      const done = await post({ toolport: scene.toolport, messages: approved, turns: ["Wait"] });
      expect(outputsOf(done)).toMatchObject([
        { type: "text", value: expect.stringContaining("waits for the answer of the user") },
      ]);
    }
    expect(await scene.toolport.suspended()).toMatchObject([{ reason: "input" }]);
    expect(scene.seen.requests).toBe(1);
  });

  test("runs in a conversation that repeats the ids of calls, once for each approval", async () => {
    await using scene = open();
    const { toolport, seen } = scene;
    const first = await requested(scene);
    const done = await post({ toolport, messages: first.approved, turns: ["Done"] });
    const again = await requested(scene, { messages: [...done.messages, ...user("Again")] });
    expect(seen.requests).toBe(1);
    for (let times = 0; times < 2; times += 1)
      await post({ toolport, messages: again.approved, turns: ["Done"] });
    expect(seen.requests).toBe(2);
  });

  test("of one conversation does not release the same call of another one with the same ids", async () => {
    await using scene = open();
    const { toolport, seen } = scene;
    const one = await requested(scene);
    const two = await requested(scene, { chat: "chat 2" });
    expect(await toolport.suspended()).toHaveLength(2);
    await post({ toolport, messages: one.approved, turns: ["Done"] });
    await post({ toolport, messages: one.approved, turns: ["Done"] });
    expect(await toolport.suspended()).toHaveLength(1);
    await post({ toolport, messages: two.approved, turns: ["Done"], chat: "chat 2" });
    expect(seen.requests).toBe(2);
  });
});

describe("runs nothing", () => {
  test("with changed arguments", async () => {
    await using scene = open();
    const { approved } = await requested(scene);
    const changed: ModelMessage[] = JSON.parse(JSON.stringify(approved).replaceAll("Oslo", "Rome"));
    const done = await post({ toolport: scene.toolport, messages: changed, turns: ["Done"] });
    expect(outputsOf(done)).toEqual([REFUSED("KEY_REUSED")]);
    expect(scene.seen.requests).toBe(0);
    await post({ toolport: scene.toolport, messages: approved, turns: ["Done"] });
    expect(scene.seen.booked).toEqual([{ to: "Oslo" }]);
  });

  test.each([
    ["with another tool", (text: string) => text.replaceAll("travel__note", "travel__book"), "KEY_REUSED"],
    ["for a call that no model requested", (text: string) => text.replaceAll("1-0", "9-9"), "UNKNOWN"],
  ])("%s", async (_name, change, code) => {
    await using scene = open();
    const { approved } = await requested(scene);
    const messages: ModelMessage[] = JSON.parse(change(JSON.stringify(approved)));
    const both = await Promise.all(
      [scene.toolport, scene.other].map((toolport) => post({ toolport, messages, turns: ["Done"] })),
    );
    expect(both.map(outputsOf)).toEqual([[REFUSED(code)], [REFUSED(code)]]);
    expect(scene.seen.requests).toBe(0);
    expect(await scene.toolport.suspended()).toHaveLength(1);
  });

  test("for another user", async () => {
    await using scene = open();
    const { approved } = await requested(scene, { toolport: scene.toolport.as("alice") });
    for (const toolport of [scene.toolport, scene.toolport.as("bob")]) {
      const done = await post({ toolport, messages: approved, turns: ["Done"] });
      expect(outputsOf(done)).toEqual([REFUSED("SUSPENSION_UNKNOWN")]);
    }
    expect(scene.seen.requests).toBe(0);
    await post({ toolport: scene.toolport.as("alice"), messages: approved, turns: ["Done"] });
    expect(scene.seen.requests).toBe(1);
  });

  test("after the approval has expired or was discarded", async () => {
    await using scene = open();
    const { approved } = await requested(scene);
    const [waiting] = await scene.toolport.suspended();
    await scene.toolport.discard(waiting!.token);
    const expiring = await requested(scene, {
      chat: "chat 2",
      options: { suspend: { key: "chat 2", ttlMs: 1 } },
    });
    await expect.poll(() => scene.toolport.suspended()).toEqual([]);
    for (const [chat, messages, code] of [
      ["chat 1", approved, "(REFUSED)"],
      ["chat 2", expiring.approved, "SUSPENSION_UNKNOWN"],
    ] as const) {
      const done = await post({ toolport: scene.toolport, messages, turns: ["Done"], chat });
      expect(outputsOf(done)).toEqual([REFUSED(code)]);
    }
    expect(scene.seen.requests).toBe(0);
  });

  test("after the user denied it: later messages with an approval are refused", async () => {
    await using scene = open();
    const { asked, approved } = await requested(scene);
    const denied = await post({
      toolport: scene.toolport,
      messages: decide(asked, false),
      turns: [[{ name: "travel__note", args: { to: "Rome" } }]],
    });
    expect(denied.messages.at(-1)).toMatchObject({ role: "assistant" });
    expect(await scene.toolport.suspended()).toMatchObject([{ args: { to: "Rome" } }]);
    const done = await post({ toolport: scene.other, messages: approved, turns: ["Done"] });
    expect(outputsOf(done)).toEqual([REFUSED("not approved")]);
    expect(scene.seen.requests).toBe(0);
  });
});

test("calls that the port's approve decides at once need no message", async () => {
  await using scene = open({ approve: ({ args }) => (args["to"] === "Oslo" ? true : "suspend") });
  const rome: ScriptedTurn = [...NOTE, { name: "travel__note", args: { to: "Rome" } }];
  const asked = await post({ toolport: scene.toolport, messages: user(), turns: [rome] });
  expect(scene.seen.booked).toEqual([{ to: "Oslo" }]);
  await post({ toolport: scene.toolport, messages: decideAll(asked.messages), turns: ["Done"] });
  expect(scene.seen.booked).toEqual([{ to: "Oslo" }, { to: "Rome" }]);
});

/** Approvals of a step with other results. */
const decideAll = (messages: readonly ModelMessage[]): ModelMessage[] => {
  const at = messages.findLastIndex(({ role }) => role === "assistant");
  return [...messages, ...decide(messages.slice(0, at + 1), true).slice(-1)];
};

test("a call whose key cannot be used waits in its output instead", async () => {
  await using scene = open();
  const { toolport } = scene;
  const options = { suspend: { key: () => undefined } };
  const asked = await post({ toolport, messages: user(), turns: [NOTE, "Wait"], options });
  expect(outputsOf(asked)).toMatchObject([{ value: expect.stringContaining("the approval of the user") }]);
  expect(await toolport.suspended()).toMatchObject([{ reason: "approval" }]);
  expect(scene.seen.requests).toBe(0);
});

test("the id of the conversation is required", async () => {
  await using scene = open();
  for (const suspend of [undefined, true, {}, { key: "" }]) {
    const error = failure(toAiSdkTools(scene.toolport, { needsApproval: "toolport", suspend }));
    expect(await error).toMatchObject({ code: "INVALID_CONFIG" });
    expect((await error).message).toContain("suspend: { key: chatId }");
  }
});
