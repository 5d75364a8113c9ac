/** A local stand-in for OpenAI's chat completions with a scripted model. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A step of the model: a tool call or a text. */
export type ScriptedStep = { readonly call: string; readonly args: object } | string;

export interface OpenAiDouble extends AsyncDisposable {
  /** For `OPENAI_BASE_URL`. */
  readonly baseUrl: string;
  /** Bodies of the requests so far. */
  readonly requests: { readonly tools?: { readonly function: { readonly name: string } }[] }[];
}

/** The number of tool results in the conversation selects the step, so that every run starts at the first. */
export async function startOpenAiDouble(script: readonly ScriptedStep[]): Promise<OpenAiDouble> {
  const requests: OpenAiDouble["requests"] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as OpenAiDouble["requests"][number] & { messages: { role: string }[] };
    requests.push(body);
    const done = body.messages.filter(({ role }) => role === "tool").length;
    const step = script[done] ?? "The script has ended";
    const message =
      typeof step === "string"
        ? { role: "assistant", content: step }
        : { role: "assistant", content: null, tool_calls: [toolCall(`call-${done}`, step)] };
    const finish_reason = typeof step === "string" ? "stop" : "tool_calls";
    response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        // LangGraph treats messages with the same id as the same message.
        id: `scripted-${requests.length}`,
        object: "chat.completion",
        created: 0,
        model: "scripted",
        choices: [{ index: 0, message, finish_reason }],
        usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const toolCall = (id: string, { call, args }: Exclude<ScriptedStep, string>) => ({
  id,
  type: "function",
  function: { name: call, arguments: JSON.stringify(args) },
});
