/** An HTTP server that accepts and rejects tools like OpenAI, Anthropic and Gemini, and responds to accepted requests with a text. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Refusal, type RuleTarget, requestRefusals, type SentTool } from "./provider-refusals.js";

// biome-ignore lint/suspicious/noExplicitAny: bodies of four APIs
type Body = any;

export interface ProviderStandIn extends AsyncDisposable {
  readonly url: string;
  /** Tool names of every request, accepted or rejected. */
  readonly requests: readonly string[][];
  /** Reasons of rejected requests. */
  readonly refused: readonly Refusal[];
}

interface Api {
  readonly path: RegExp;
  /** The tools of the request, by the form whose rules apply. */
  readonly tools: (body: Body) => readonly (SentTool & { readonly target: RuleTarget })[];
  readonly answer: (body: Body) => unknown;
  readonly error: (message: string) => unknown;
}

const openAITool = ({ name, parameters, strict }: Body): SentTool & { target: RuleTarget } => ({
  name,
  schema: parameters,
  target: strict === true ? "openai-strict" : "openai",
});

const openAIError = (message: string) => ({
  error: { message, type: "invalid_request_error", code: "invalid_function_parameters" },
});

const APIS: readonly Api[] = [
  {
    path: /\/chat\/completions$/,
    tools: ({ tools = [] }) => tools.map(({ function: it }: Body) => openAITool(it)),
    answer: ({ model }) => ({
      id: "chat-1",
      object: "chat.completion",
      created: 1,
      model,
      choices: [{ index: 0, message: { role: "assistant", content: "Done" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
    error: openAIError,
  },
  {
    path: /\/responses$/,
    tools: ({ tools = [] }) => tools.map(openAITool),
    answer: ({ model }) => ({
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model,
      output: [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Done", annotations: [] }],
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }),
    error: openAIError,
  },
  {
    path: /\/messages$/,
    tools: ({ tools = [] }) =>
      tools.map(({ name, input_schema: schema }: Body) => ({ name, schema, target: "anthropic" })),
    answer: ({ model }) => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text: "Done" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
    error: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  },
  {
    path: /:generateContent(\?|$)/,
    tools: ({ tools = [] }) =>
      tools.flatMap(({ functionDeclarations = [] }: Body) =>
        functionDeclarations.map(({ name, parameters, parametersJsonSchema }: Body) =>
          parametersJsonSchema === undefined
            ? { name, schema: parameters, target: "gemini-openapi" }
            : { name, schema: parametersJsonSchema, target: "gemini-json" },
        ),
      ),
    answer: () => ({
      candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [{ text: "Done" }] } }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    }),
    error: (message) => ({ error: { code: 400, status: "INVALID_ARGUMENT", message } }),
  },
];

export async function startProviderStandIn(): Promise<ProviderStandIn> {
  const requests: string[][] = [];
  const refused: Refusal[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: Body = JSON.parse(Buffer.concat(chunks).toString());
    const api = APIS.find(({ path }) => path.test(request.url ?? ""));
    const send = (status: number, answer: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    };
    if (api === undefined) return send(404, { error: { message: `no API at ${request.url}` } });
    const tools = api.tools(body);
    requests.push(tools.map(({ name }) => name));
    const targets = new Set(tools.map(({ target }) => target));
    const found = [...targets].flatMap((target) =>
      requestRefusals(
        target,
        tools.filter((tool) => tool.target === target),
      ),
    );
    refused.push(...found);
    if (found.length === 0) return send(200, api.answer(body));
    send(400, api.error(found.map(({ tool, problem }) => `${tool}: ${problem}`).join("\n")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
