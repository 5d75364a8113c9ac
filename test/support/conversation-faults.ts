/** Checks a list of LangChain messages by the rules that providers apply to tool calls. */
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";

/**
 * Everything that a provider would reject; empty if the conversation is well formed.
 *
 * - Every tool call is answered exactly once, before any other message.
 *   OpenAI: https://platform.openai.com/docs/guides/function-calling ("An assistant message with 'tool_calls' must be followed
 *   by tool messages responding to each 'tool_call_id'"); Anthropic: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 *   ("Tool result blocks must immediately follow their corresponding tool use blocks in the message history").
 * - No answer belongs to a call that was not made. OpenAI: "messages with role 'tool' must be a response to a preceding message
 *   with 'tool_calls'".
 * - An answer has the name of the tool that was called. Gemini: `functionResponse.name` must match `functionCall.name`,
 *   https://ai.google.dev/gemini-api/docs/function-calling
 */
export function conversationFaults(messages: readonly BaseMessage[]): string[] {
  const faults: string[] = [];
  const open = new Map<string, string>();
  const answered = new Set<string>();
  const unanswered = (where: string) => {
    for (const [id, name] of open) faults.push(`${where}: call ${id} of ${name} is not answered`);
    open.clear();
  };
  for (const [index, message] of messages.entries()) {
    const where = `message ${index}`;
    if (ToolMessage.isInstance(message)) {
      const { tool_call_id: id, name } = message;
      const called = open.get(id);
      if (answered.has(id)) faults.push(`${where}: call ${id} is answered twice`);
      else if (called === undefined) faults.push(`${where}: no call has the id "${id}"`);
      else if (name !== called) faults.push(`${where}: call ${id} of ${called} is answered by ${name}`);
      open.delete(id);
      answered.add(id);
      continue;
    }
    unanswered(where);
    if (!AIMessage.isInstance(message)) continue;
    for (const { id, name } of message.tool_calls ?? []) {
      if (id === undefined || id === "") faults.push(`${where}: a call of ${name} has no id`);
      else if (open.has(id) || answered.has(id)) faults.push(`${where}: the id ${id} is used twice`);
      else open.set(id, name);
    }
  }
  unanswered("the end");
  return faults;
}
