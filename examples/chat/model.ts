/** The model of the chat: OpenAI if there is a key, otherwise a script that says it is one. */
import OpenAI from "openai";
import { type AgentModel, createScriptedModel, type ScriptRule } from "toolport/testing";

/** Prints text as it arrives. */
export type Write = (text: string) => void;

/** `signal` returns the signal of the current run. */
export function createModel(write: Write, signal: () => AbortSignal | undefined): AgentModel {
  const key = process.env["OPENAI_API_KEY"];
  return key === undefined ? createScript(write) : createOpenAIModel(key, write, signal);
}

/** Every rule that starts with a word of the user; the last one answers when a tool has run. */
function createScript(write: Write): AgentModel {
  const say = (text: string) => {
    write(text);
    return text;
  };
  const call = (tool: string, args = {}) => ({ calls: [{ tool: `notes__${tool}`, args }] });
  const isNew = (word: string) => ({
    when: ({ prompt, answers }: { prompt: string; answers: readonly unknown[] }) =>
      answers.length === 0 && prompt.startsWith(word),
  });
  const rules: ScriptRule[] = [
    { ...isNew("remember "), say: ({ prompt }) => call("add", { text: prompt.slice("remember ".length) }) },
    { ...isNew("list"), say: call("list") },
    { ...isNew("upload"), say: call("upload") },
    { when: ({ answers }) => answers.length > 0, say: ({ answers }) => say(answers[0]?.text ?? "") },
    {
      say: () =>
        say("I am a script. Say: remember buy milk, list, upload, exit. Set OPENAI_API_KEY for a model."),
    },
  ];
  return createScriptedModel(rules.map((rule) => ({ ...rule, times: Number.POSITIVE_INFINITY })));
}

/** Keeps the conversation, so that the model knows what was said before. */
function createOpenAIModel(apiKey: string, write: Write, signal: () => AbortSignal | undefined): AgentModel {
  const openai = new OpenAI({ apiKey });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  let open: string[] = [];
  return async ({ prompt, tools, answers }) => {
    // Every call needs an answer, also one that the user cancelled.
    for (const [index, id] of open.entries())
      messages.push({
        role: "tool",
        tool_call_id: id,
        content: answers[index]?.text ?? "Cancelled by the user",
      });
    open = [];
    if (answers.length === 0) messages.push({ role: "user", content: prompt });

    const stream = openai.chat.completions.stream(
      {
        model: process.env["OPENAI_MODEL"] ?? "gpt-5-mini",
        messages,
        tools: tools.map(({ name, description = "", inputSchema }) => ({
          type: "function",
          function: { name, description, parameters: inputSchema as Record<string, unknown> },
        })),
      },
      { signal: signal() },
    );
    stream.on("content", (delta) => write(delta));
    const { message } = (await stream.finalChatCompletion()).choices[0]!;
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((made) => made.type === "function");
    open = calls.map(({ id }) => id);
    return {
      text: message.content ?? "",
      calls: calls.map((made) => ({
        tool: made.function.name,
        args: JSON.parse(made.function.arguments || "{}") as Record<string, unknown>,
      })),
    };
  };
}
