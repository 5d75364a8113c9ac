/** Checks requests with tools against each provider's published rules. Each check returns its violations. */
import { type RuleTarget, requestRefusals, type SentTool } from "../../../test/support/provider-refusals.js";
import type { RequestBody } from "./model-double.js";

type Problems = string[];

const check = (problems: Problems, isFine: unknown, problem: string) => {
  if (!isFine) problems.push(problem);
};

const isDataUri = (url: unknown, type: string): boolean =>
  typeof url === "string" && new RegExp(`^data:${type};base64,[A-Za-z0-9+/]+=*$`).test(url);

const isFilled = (text: unknown): boolean => typeof text === "string" && text.trim() !== "";

/** https://platform.openai.com/docs/api-reference/chat/create */
export function openAIChatProblems({ tools = [], messages }: RequestBody): Problems {
  const problems: Problems = [];
  for (const { type } of tools) check(problems, type === "function", `tool type ${type}`);
  checkOpenAITools(
    problems,
    tools.map((tool: RequestBody) => tool.function),
  );
  for (let index = 0; index < messages.length; index += 1) {
    const { role, tool_calls: calls, content } = messages[index];
    if (role === "assistant" && calls) {
      const answers = messages.slice(index + 1, index + 1 + calls.length);
      check(
        problems,
        calls.every((call: { id: string }, place: number) => answers[place]?.tool_call_id === call.id),
        `calls of message ${index} are not all answered right behind it`,
      );
    }
    if (role === "tool") check(problems, isFilled(content), `tool message ${index} is not text`);
    if (role === "user" && Array.isArray(content))
      for (const part of content)
        check(
          problems,
          (part.type === "text" && isFilled(part.text)) ||
            (part.type === "image_url" && isDataUri(part.image_url.url, "image/(png|jpeg|gif|webp)")) ||
            (part.type === "file" &&
              isDataUri(part.file.file_data, "application/pdf") &&
              part.file.filename) ||
            (part.type === "input_audio" && ["wav", "mp3"].includes(part.input_audio.format)),
          `part ${part.type} of message ${index}`,
        );
  }
  return problems;
}

/** https://platform.openai.com/docs/api-reference/responses/create */
export function openAIResponsesProblems({ tools = [], input }: RequestBody): Problems {
  const problems: Problems = [];
  for (const tool of tools) {
    check(problems, tool.type === "function", `tool type ${tool.type}`);
    check(problems, typeof tool.strict === "boolean", `${tool.name} leaves strict open`);
  }
  checkOpenAITools(problems, tools);
  const items: RequestBody[] = typeof input === "string" ? [] : input;
  const answered = new Set(
    items.filter(({ type }) => type === "function_call_output").map((item) => item.call_id),
  );
  for (const item of items) {
    if (item.type === "function_call")
      check(problems, answered.has(item.call_id), `no answer to ${item.call_id}`);
    if (item.type !== "function_call_output") continue;
    if (typeof item.output === "string") check(problems, isFilled(item.output), "empty output");
    else
      for (const part of item.output)
        check(
          problems,
          (part.type === "input_text" && isFilled(part.text)) ||
            (part.type === "input_image" && isDataUri(part.image_url, "image/(png|jpeg|gif|webp)")) ||
            (part.type === "input_file" && isDataUri(part.file_data, "application/pdf") && part.filename),
          `output part ${part.type}`,
        );
  }
  return problems;
}

function checkOpenAITools(problems: Problems, tools: readonly RequestBody[]): void {
  const sent = (isStrict: boolean) =>
    tools
      .filter(({ strict = false }) => strict === isStrict)
      .map(({ name, parameters }) => ({ name, schema: parameters }));
  checkTools(problems, "openai", sent(false));
  checkTools(problems, "openai-strict", sent(true));
}

function checkTools(problems: Problems, target: RuleTarget, tools: readonly SentTool[]): void {
  for (const { tool, problem } of requestRefusals(target, tools)) problems.push(`${tool}: ${problem}`);
}

/** https://docs.claude.com/en/api/messages and …/agents-and-tools/tool-use/implement-tool-use */
export function anthropicProblems({ tools = [], messages }: RequestBody): Problems {
  const problems: Problems = [];
  checkTools(
    problems,
    "anthropic",
    tools.map(({ name, input_schema: schema }: RequestBody) => ({ name, schema })),
  );
  messages.forEach(({ role, content }: RequestBody, index: number) => {
    if (typeof content === "string") {
      check(problems, isFilled(content), `message ${index} is empty`);
      return;
    }
    const asked = content.filter(({ type }: RequestBody) => type === "tool_use");
    const next = messages[index + 1]?.content ?? [];
    asked.forEach(({ id }: RequestBody, place: number) => {
      const { type, tool_use_id: answered } = next[place] ?? {};
      check(problems, type === "tool_result" && answered === id, `${id} is not answered in its place`);
    });
    for (const block of content) anthropicBlock(problems, block, role);
  });
  return problems;
}

function anthropicBlock(problems: Problems, block: RequestBody, role: string): void {
  switch (block.type) {
    case "text":
      return check(problems, isFilled(block.text), "an empty text block");
    case "image":
      check(problems, block.source.type === "base64" && !block.source.data.startsWith("data:"), "image data");
      return check(problems, /^image\/(png|jpeg|gif|webp)$/.test(block.source.media_type), "image type");
    case "document":
      return check(problems, block.source.media_type === "application/pdf", "document type");
    case "tool_use":
      return check(problems, role === "assistant", "a tool_use that is not the assistant's");
    case "tool_result":
      check(problems, role === "user", "a tool_result that is not the user's");
      check(problems, block.content.length > 0, "an empty tool_result");
      if (block.is_error === true)
        check(
          problems,
          block.content.every(({ type }: RequestBody) => type === "text"),
          "an error that is not text",
        );
      for (const inner of block.content) anthropicBlock(problems, inner, role);
      return;
    default:
      problems.push(`a block ${block.type}`);
  }
}

/** https://ai.google.dev/api/caching#FunctionDeclaration and …/gemini-api/docs/function-calling */
export function geminiProblems({ tools = [], contents }: RequestBody): Problems {
  const problems: Problems = [];
  const declared: RequestBody[] = tools.flatMap((tool: RequestBody) => tool.functionDeclarations);
  for (const { name, parametersJsonSchema, parameters } of declared)
    check(problems, parametersJsonSchema === undefined || parameters === undefined, `${name}: two schemas`);
  const [json, message] = [true, false].map((isJson) =>
    declared.filter((each) => (each.parametersJsonSchema !== undefined) === isJson),
  );
  checkTools(
    problems,
    "gemini-json",
    json!.map(({ name, parametersJsonSchema: schema }) => ({ name, schema })),
  );
  checkTools(
    problems,
    "gemini-openapi",
    message!.map(({ name, parameters: schema }) => ({ name, schema })),
  );
  contents.forEach(({ role, parts }: RequestBody, index: number) => {
    check(problems, role === "user" || role === "model", `role ${role}`);
    const calls = parts.filter((part: RequestBody) => part.functionCall);
    if (calls.length === 0) return;
    const answers = contents[index + 1].parts.filter((part: RequestBody) => part.functionResponse);
    check(
      problems,
      answers.map((part: RequestBody) => part.functionResponse.name).join() ===
        calls.map((part: RequestBody) => part.functionCall.name).join(),
      `calls of content ${index} are not answered one by one`,
    );
    for (const { functionResponse: it } of answers) {
      const keys = Object.keys(it.response);
      check(problems, keys.length === 1 && /^(output|error)$/.test(keys[0]!), `response with ${keys}`);
      for (const { inlineData } of it.parts ?? [])
        check(
          problems,
          /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/.test(inlineData.mimeType) &&
            !inlineData.data.startsWith("data:"),
          `response part ${inlineData.mimeType}`,
        );
    }
  });
  return problems;
}
