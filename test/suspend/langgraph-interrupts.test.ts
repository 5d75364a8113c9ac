/** Calls that wait for a person interrupt a LangGraph graph, and continue once when it is resumed. */
import { MemorySaver } from "@langchain/langgraph";
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { type InterruptOptions, toLangChainTools } from "toolport/langchain";
import { describe, expect, test } from "vitest";
import { createBookingServer } from "./booking-server.js";
import { Conversation, createGraph, type GraphKind, type Script, seat } from "./langgraph-graphs.js";

const BOTH: InterruptOptions = { elicitation: "interrupt", approval: "interrupt" };

async function open(
  kind: GraphKind,
  script: Script,
  { port = {}, options = BOTH }: { port?: ToolportOptions; options?: InterruptOptions } = {},
) {
  const { server, seen } = createBookingServer();
  const toolport: Toolport = createToolport({ mcpServers: { travel: server.memory() }, ...port });
  const tools = await toLangChainTools(toolport, options);
  const checkpointer = new MemorySaver();
  const graph = createGraph(kind, { script, tools, checkpointer });
  return {
    seen,
    toolport,
    tools,
    conversation: new Conversation(graph),
    graph,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

const call = (name: string, to: string) => ({ name: `travel__${name}`, args: { to } });
const booked = (to: string, name: string) => `booked ${to}, seat ${name}, meal none`;

describe.each<GraphKind>(["ToolNode", "createAgent"])("%s", (kind) => {
  test("one question costs two requests", async () => {
    await using scene = await open(kind, [call("book", "Oslo")]);
    const { conversation, seen } = scene;
    await conversation.start();
    expect(conversation.interrupts).toEqual([
      {
        id: expect.any(String),
        value: {
          type: "toolport/suspended",
          calls: [
            {
              token: expect.stringMatching(/^tpc1\./),
              reason: "input",
              requests: { seat: expect.objectContaining({ message: "Which seat?" }) },
              server: "travel",
              tool: "travel__book",
              args: { to: "Oslo" },
              round: 1,
              expiresAt: expect.any(String),
              toolCallId: "call-0",
            },
          ],
        },
      },
    ]);
    await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A")]);
    expect(seen.requests).toBe(2);
  });

  test("two rounds cost three requests", async () => {
    await using scene = await open(kind, [call("tour", "Oslo")]);
    const { conversation, seen } = scene;
    await conversation.start();
    await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
    expect(conversation.calls).toMatchObject([{ round: 2 }]);
    const pay = { answers: { pay: { action: "accept" as const, content: { pay: true } } } };
    await conversation.answer({ [conversation.calls[0]!.token]: pay });
    expect(conversation.outputs).toEqual(["toured Oslo"]);
    expect(seen.requests).toBe(3);
  });

  const three = [call("book", "Oslo"), call("note", "Bonn"), call("book", "Rome")];

  test("two questions are answered together; their sibling runs once", async () => {
    await using scene = await open(kind, three);
    const { conversation, seen } = scene;
    await conversation.start();
    expect(conversation.interrupts).toHaveLength(kind === "ToolNode" ? 1 : 2);
    expect(conversation.calls).toMatchObject([{ args: { to: "Oslo" } }, { args: { to: "Rome" } }]);
    const [oslo, rome] = conversation.calls;
    await conversation.answer({ [rome!.token]: seat("2B"), [oslo!.token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A"), "noted Bonn", booked("Rome", "2B")]);
    expect(seen.requests).toBe(5);
  });

  test.each([0, 1])("two questions are answered one by one, number %i first", async (first) => {
    await using scene = await open(kind, three);
    const { conversation, seen } = scene;
    await conversation.start();
    const all = conversation.calls;
    const second = all[1 - first]!;
    await conversation.answer({ [all[first]!.token]: seat("1A") });
    expect(conversation.calls).toEqual([second]);
    await conversation.answer({ [second.token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A"), "noted Bonn", booked("Rome", "1A")]);
    expect(seen.requests).toBe(5);
  });

  test("an answer that names no token of the interrupt is not sent, and the graph asks again", async () => {
    await using scene = await open(kind, three);
    const { conversation, seen } = scene;
    await conversation.start();
    const { calls, interrupts } = conversation;
    const [oslo, rome] = calls;
    const unknown = `tpc1.${"A".repeat(43)}`;
    for (const value of [
      "yes",
      true,
      [seat("1A"), seat("1A")],
      seat("1A"),
      { seat: seat("1A").answers.seat },
      { [unknown]: seat("1A") },
      { [oslo!.token]: "yes", [rome!.token]: { approve: true } },
      Object.fromEntries(interrupts.map(({ id }) => [id, seat("1A")])),
      Object.fromEntries(interrupts.map(({ id }) => [id, { [unknown]: seat("1A") }])),
    ]) {
      await conversation.resume(value);
      expect(conversation.calls).toEqual(calls);
    }
    expect(seen.requests).toBe(3);
    await conversation.answer({ [oslo!.token]: seat("1A"), [rome!.token]: seat("2B") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A"), "noted Bonn", booked("Rome", "2B")]);
    expect(seen.requests).toBe(5);
  });

  test("a plain map of tokens answers every question by its token", async () => {
    await using scene = await open(kind, three);
    const { conversation, seen } = scene;
    await conversation.start();
    const [oslo, rome] = conversation.calls;
    await conversation.resume({ [rome!.token]: seat("2B") });
    expect(conversation.calls).toEqual([oslo]);
    await conversation.resume({ [oslo!.token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A"), "noted Bonn", booked("Rome", "2B")]);
    expect(seen.requests).toBe(5);
  });

  test("an answer that does not fit the form is not sent; the interrupt says why", async () => {
    await using scene = await open(kind, [call("book", "Oslo")]);
    const { conversation, seen } = scene;
    await conversation.start();
    const { token } = conversation.calls[0]!;
    await conversation.answer({ [token]: seat("1") });
    expect(conversation.calls).toMatchObject([
      { token, problem: { code: "INVALID_ARGUMENTS", message: expect.stringContaining("seat.content") } },
    ]);
    expect(seen.requests).toBe(1);
    await conversation.answer({ [token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "1A")]);
  });

  test("an approval, then a question; a refused sibling is not sent", async () => {
    await using scene = await open(kind, [call("book", "Oslo"), call("note", "Bonn")], {
      port: { approve: { when: "always" } },
    });
    const { conversation, seen } = scene;
    await conversation.start();
    expect(conversation.calls).toMatchObject([{ reason: "approval" }, { reason: "approval" }]);
    expect(seen.requests).toBe(0);
    const [oslo, bonn] = conversation.calls;
    await conversation.answer({ [oslo!.token]: { approve: true }, [bonn!.token]: { approve: false } });
    expect(conversation.calls).toMatchObject([{ reason: "input", args: { to: "Oslo" } }]);
    await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
    expect(conversation.outputs).toEqual([
      booked("Oslo", "1A"),
      expect.stringContaining("The call was not approved"),
    ]);
    expect(seen.requests).toBe(2);
  });

  test("a call that was answered elsewhere continues with its result", async () => {
    await using scene = await open(kind, [call("book", "Oslo")]);
    const { conversation, toolport, seen } = scene;
    await conversation.start();
    const [waiting] = await toolport.suspended();
    await toolport.resume(waiting!.token, seat("9Z"));
    await conversation.answer({ [waiting!.token]: seat("1A") });
    expect(conversation.outputs).toEqual([booked("Oslo", "9Z")]);
    expect(seen.requests).toBe(2);
  });

  test("the same tool call ids in another thread are other calls", async () => {
    await using scene = await open(kind, [call("note", "Oslo")]);
    await new Conversation(scene.graph, "a").start();
    await new Conversation(scene.graph, "b").start();
    expect(scene.seen.requests).toBe(2);
  });

  test("with elicitation only, an approval that is left to a person is REFUSED", async () => {
    await using scene = await open(kind, [call("book", "Oslo")], {
      port: { approve: { when: "always" } },
      options: { elicitation: "interrupt" },
    });
    await scene.conversation.start();
    expect(scene.conversation.outputs).toEqual([expect.stringContaining("(REFUSED)")]);
    expect(scene.seen.requests).toBe(0);
  });

  test("with approval only, onElicitation answers the server", async () => {
    await using scene = await open(kind, [call("book", "Oslo")], {
      port: {
        approve: { when: "always" },
        onElicitation: () => ({ action: "accept", content: { seat: "5E" } }),
      },
      options: { approval: "interrupt" },
    });
    const { conversation } = scene;
    await conversation.start();
    expect(conversation.calls).toMatchObject([{ reason: "approval" }]);
    await conversation.answer({ [conversation.calls[0]!.token]: { approve: true } });
    expect(conversation.outputs).toEqual([booked("Oslo", "5E")]);
  });
});
