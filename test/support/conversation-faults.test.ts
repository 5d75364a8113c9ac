import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { conversationFaults } from "./conversation-faults.js";

const asks = (...ids: string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "add", args: {} })) });
const answer = (id: string, name = "add") => new ToolMessage({ content: "1", tool_call_id: id, name });
const says = new HumanMessage("go");

it("accepts a conversation in which every call is answered once", () => {
  const done = new AIMessage("done");
  expect(conversationFaults([says, asks("a", "b"), answer("b"), answer("a"), done])).toEqual([]);
});

it.each([
  ["a call without an answer", [asks("a")], "the end: call a of add is not answered"],
  ["a late answer", [asks("a"), says, answer("a")], "message 1: call a of add is not answered"],
  ["two answers", [asks("a"), answer("a"), answer("a")], "message 2: call a is answered twice"],
  ["an answer to no call", [says, answer("")], 'message 1: no call has the id ""'],
  [
    "an answer of another tool",
    [asks("a"), answer("a", "sub")],
    "message 1: call a of add is answered by sub",
  ],
  ["an id used twice", [asks("a", "a"), answer("a")], "message 0: the id a is used twice"],
])("finds %s", (_what, messages, fault) => {
  expect(conversationFaults(messages)).toContain(fault);
});
