/** What each provider's published rules say about requests with tools, as checks that name what is wrong. */
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
  check(problems, tools.length <= 128, "more than 128 tools");
  for (const { type, function: it } of tools) {
    check(problems, type === "function", `tool type ${type}`);
    check(problems, /^[a-zA-Z0-9_-]{1,64}$/.test(it.name), `name ${it.name}`);
    openAIParameters(problems, it);
  }
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
    check(problems, /^[a-zA-Z0-9_-]{1,64}$/.test(tool.name), `name ${tool.name}`);
    check(problems, typeof tool.strict === "boolean", `${tool.name} leaves strict open`);
    openAIParameters(problems, tool);
  }
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

function openAIParameters(problems: Problems, { name, parameters, strict }: RequestBody): void {
  check(problems, parameters.type === "object", `${name}: parameters are no object`);
  check(problems, parameters.properties !== undefined, `${name}: no properties`);
  for (const keyword of ["anyOf", "oneOf", "allOf", "enum", "not"])
    check(problems, !(keyword in parameters), `${name}: ${keyword} at the root`);
  if (strict !== true) return;
  const names = Object.keys(parameters.properties);
  check(problems, parameters.additionalProperties === false, `${name}: strict, but open`);
  check(
    problems,
    names.every((key) => parameters.required.includes(key)),
    `${name}: strict, but optional`,
  );
}

/** https://docs.claude.com/en/api/messages and …/agents-and-tools/tool-use/implement-tool-use */
export function anthropicProblems({ tools = [], messages }: RequestBody): Problems {
  const problems: Problems = [];
  for (const { name, input_schema: schema } of tools) {
    check(problems, /^[a-zA-Z0-9_-]{1,64}$/.test(name), `name ${name}`);
    check(problems, schema.type === "object", `${name}: input_schema is no object`);
    for (const keyword of ["anyOf", "oneOf", "allOf"])
      check(problems, !(keyword in schema), `${name}: ${keyword} at the root`);
  }
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
  for (const { functionDeclarations } of tools)
    for (const { name, parametersJsonSchema, parameters } of functionDeclarations) {
      check(problems, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name), `name ${name}`);
      check(
        problems,
        (parametersJsonSchema === undefined) !== (parameters === undefined),
        `${name}: two schemas`,
      );
      const schema = parametersJsonSchema ?? parameters;
      check(problems, /^object$/i.test(schema.type), `${name}: parameters are no object`);
      check(problems, !JSON.stringify(schema).includes('"$ref"'), `${name}: a reference`);
    }
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
