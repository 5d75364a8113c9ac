/** Programs in LangGraph: a call of a program that waits for a person interrupts the graph, and the program goes on when it is resumed. */
import { MemorySaver } from "@langchain/langgraph";
import { createToolport, memoryStore, type Store, type ToolportOptions } from "toolport";
import { createCodeMode } from "toolport/code";
import { toLangChainTools } from "toolport/langchain";
import { describe, expect, test } from "vitest";
import { createBookingServer } from "../../../test/suspend/booking-server.js";
import {
  Conversation,
  createGraph,
  type GraphKind,
  type Script,
  seat,
} from "../../../test/suspend/langgraph-graphs.js";

const program = (code: string) => ({ name: "execute", args: { code } });

/** A server, a store and a checkpointer; every call of `open` is a new process as far as they can tell. */
function createScene(kind: GraphKind, script: Script, port: ToolportOptions = {}) {
  const { server, seen } = createBookingServer();
  const checkpointer = new MemorySaver();
  const store: Store = memoryStore();
  const open = async () => {
    const toolport = createToolport({ mcpServers: { travel: server.memory() }, store, ...port });
    const code = createCodeMode(toolport);
    const tools = await toLangChainTools(code, { elicitation: "interrupt", approval: "interrupt" });
    return {
      code,
      toolport,
      conversation: new Conversation(createGraph(kind, { script, tools, checkpointer })),
      async [Symbol.asyncDispose]() {
        await code.close();
        await toolport.close();
      },
    };
  };
  return { seen, open, [Symbol.asyncDispose]: () => server.close() };
}

const outputOf = (output: unknown) => JSON.parse(String(output)) as { value: unknown; logs?: string[] };

describe.each<GraphKind>(["ToolNode", "createAgent"])("%s", (kind) => {
  test("a question of a server: the program goes on at its await, with its variables", async () => {
    const source = `
      const begun = Math.random();
      const before = await tools.travel.note({ to: "Bonn" });
      const saved = begun;
      const text = await tools.travel.book({ to: "Oslo" });
      return [before, text, saved === begun];
    `;
    await using scene = createScene(kind, [program(source)]);
    await using first = await scene.open();
    await first.conversation.start();
    expect(first.conversation.calls).toMatchObject([
      {
        reason: "input",
        tool: "travel__book",
        args: { to: "Oslo" },
        toolCallId: "call-0",
        requests: { seat: { message: "Which seat?" } },
      },
    ]);
    const { token } = first.conversation.calls[0]!;
    await first.conversation.answer({ [token]: seat("1A") });
    expect(first.conversation.outputs?.map(outputOf)).toMatchObject([
      { value: ["noted Bonn", "booked Oslo, seat 1A, meal none", true] },
    ]);
    expect(scene.seen.requests).toBe(3);
  });

  test("every step of the graph with another Toolport and another code mode", async () => {
    const source = `
      const texts = [];
      for (const to of ["Oslo", "Rome"]) texts.push(await tools.travel.book({ to }));
      return texts;
    `;
    await using scene = createScene(kind, [program(source)], { approve: { when: "always" } });
    const asked: unknown[] = [];
    let state: Conversation["state"];
    let input: ((conversation: Conversation) => Promise<unknown>) | undefined;
    do {
      await using step = await scene.open();
      step.conversation.state = state;
      await (input === undefined ? step.conversation.start() : input(step.conversation));
      state = step.conversation.state;
      const [call] = step.conversation.calls;
      if (call === undefined) break;
      asked.push([call.reason, call.args["to"]]);
      const answer = call.reason === "approval" ? { approve: true } : seat("1A");
      input = (conversation) => conversation.answer({ [call.token]: answer });
    } while (asked.length < 10);
    expect(asked).toEqual([
      ["approval", "Oslo"],
      ["input", "Oslo"],
      ["approval", "Rome"],
      ["input", "Rome"],
    ]);
    const end = new Conversation({ invoke: async () => state! });
    end.state = state;
    expect(end.outputs?.map(outputOf)).toMatchObject([
      { value: ["booked Oslo, seat 1A, meal none", "booked Rome, seat 1A, meal none"] },
    ]);
    expect(scene.seen.booked).toHaveLength(2);
  });

  test("two programs wait at once, beside one that does not; each ends once", async () => {
    await using scene = createScene(kind, [
      program(`return tools.travel.book({ to: "Oslo" })`),
      program(`return tools.travel.note({ to: "Bonn" })`),
      program(`return tools.travel.book({ to: "Rome" })`),
    ]);
    await using open = await scene.open();
    const { conversation } = open;
    await conversation.start();
    const [oslo, rome] = conversation.calls;
    await conversation.answer({ [rome!.token]: seat("2B") });
    expect(conversation.calls).toEqual([oslo]);
    await conversation.answer({ [oslo!.token]: seat("1A") });
    expect(conversation.outputs?.map((output) => outputOf(output).value)).toEqual([
      "booked Oslo, seat 1A, meal none",
      "noted Bonn",
      "booked Rome, seat 2B, meal none",
    ]);
    expect(scene.seen.requests).toBe(5);
  });

  test("a refusal is an error in the program, which goes on", async () => {
    const source = `
      const refused = await tools.travel.book({ to: "Oslo" }).catch((error) => error.code);
      return [refused, "went on"];
    `;
    await using scene = createScene(kind, [program(source)], { approve: { when: "always" } });
    await using open = await scene.open();
    const { conversation } = open;
    await conversation.start();
    await conversation.answer({ [conversation.calls[0]!.token]: { approve: false } });
    expect(conversation.outputs?.map(outputOf)).toMatchObject([{ value: ["REFUSED", "went on"] }]);
    expect(scene.seen.requests).toBe(0);
  });

  test("an answer that does not fit the form is not sent; the interrupt says why, and the program keeps waiting", async () => {
    await using scene = createScene(kind, [program(`return tools.travel.book({ to: "Oslo" })`)]);
    await using open = await scene.open();
    const { conversation } = open;
    await conversation.start();
    const { token } = conversation.calls[0]!;
    await conversation.answer({ [token]: seat("1") });
    expect(conversation.calls).toMatchObject([
      { token, problem: { code: "INVALID_ARGUMENTS", message: expect.stringContaining("seat.content") } },
    ]);
    await conversation.answer({ [token]: seat("1A") });
    expect(conversation.outputs?.map(outputOf)).toMatchObject([{ value: "booked Oslo, seat 1A, meal none" }]);
    expect(scene.seen.requests).toBe(2);
  });
});
