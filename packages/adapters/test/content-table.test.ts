/** A table of every kind of content in a tool result, and its form for each provider. */
import { createToolport } from "toolport";
import { toAiSdkMessages, toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicMessages } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiMessages } from "toolport/gemini";
import { runOpenAIToolCalls, toOpenAIMessages } from "toolport/openai";
import { createTestServer, type TestServer, type TestToolAnswer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { PIXEL } from "./workshop.js";

const PDF = "JVBERi0xLjQK";
const WAV = "UklGRg==";
const image = { type: "image" as const, data: PIXEL, mimeType: "image/png" };
const audio = { type: "audio" as const, data: WAV, mimeType: "audio/wav" };
const pdf = {
  type: "resource" as const,
  resource: { uri: "file:///a/paper.pdf", mimeType: "application/pdf", blob: PDF },
};
const words = {
  type: "resource" as const,
  resource: { uri: "file:///a.md", mimeType: "text/markdown", text: "# A" },
};
const zip = {
  type: "resource" as const,
  resource: { uri: "file:///a.zip", mimeType: "application/zip", blob: "emlw" },
};
const raw = { type: "resource" as const, resource: { uri: "file:///a", blob: "cmF3" } };
const link = { type: "resource_link" as const, uri: "file:///b.txt", name: "b" };

const ANSWERS: Record<string, TestToolAnswer> = {
  text: "Hello",
  image: [image],
  audio: [audio],
  pdf: [pdf],
  words: [words],
  link: [link],
  structured: { structuredContent: { sum: 5 }, content: [] },
  summary: { structuredContent: { sum: 5 }, content: [{ type: "text", text: "It is five" }] },
  repeated: { structuredContent: { sum: 5 } },
  empty: [],
  error: { content: [{ type: "text", text: "It broke" }], isError: true },
  bareError: { content: [], isError: true },
  brokenImage: { content: [{ type: "text", text: "It broke" }, image], isError: true },
};
const KINDS = Object.keys(ANSWERS);

const IMAGE_NOTE = "[image, image/png, 70 bytes]";
const AUDIO_NOTE = "[audio, audio/wav, 4 bytes, left out]";
const PDF_NOTE = "Resource: file:///a/paper.pdf (application/pdf, 9 bytes)";
const WORDS = "Resource: file:///a.md\n# A";
const LINK_NOTE = "Resource: file:///b.txt (b)";
const NEXT = " (in the next user message)";
const said = (name: string) => `What s__${name} answered:`;

/** Expected messages of each provider for one tool result. */
const chat = (content: string) => [{ role: "tool", tool_call_id: "1", content }];
const item = (output: unknown) => [{ type: "function_call_output", call_id: "1", output }];
const claude = (content: unknown, isError?: true, ...beside: object[]) => [
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "1",
        content: typeof content === "string" ? [{ type: "text", text: content }] : content,
        ...(isError && { is_error: true }),
      },
      ...beside,
    ],
  },
];
const gemini = (name: string, response: object, parts?: object[], beside: object[] = []) => {
  const functionResponse = { id: "1", name: `s__${name}`, response, ...(parts && { parts }) };
  return [{ role: "user", parts: [{ functionResponse }, ...beside] }];
};
const claudeImage = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
const claudePdf = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: PDF },
  title: "paper.pdf",
};
const pngUri = `data:image/png;base64,${PIXEL}`;
const pdfUri = `data:application/pdf;base64,${PDF}`;
const chatImage = { type: "image_url", image_url: { url: pngUri } };
const shown = (name: string, part: object) => ({
  role: "user",
  content: [{ type: "text", text: said(name) }, part],
});
const inline = (mimeType: string, data: string) => [{ inlineData: { mimeType, data } }];

interface Row {
  chat: unknown;
  responses: unknown;
  anthropic: unknown;
  gemini: unknown;
  aiSdk: unknown;
}

const same = (name: string, text: string): Row => ({
  chat: chat(text),
  responses: item(text),
  anthropic: claude(text),
  gemini: gemini(name, { output: text }),
  aiSdk: { type: "text", value: text },
});

const failed = (name: string, text: string): Row => ({
  chat: chat(`Error: ${text}`),
  responses: item(`Error: ${text}`),
  anthropic: claude(text, true),
  gemini: gemini(name, { error: text }),
  aiSdk: { type: "error-text", value: text },
});

const TABLE: Record<string, Row> = {
  text: same("text", "Hello"),
  image: {
    chat: [...chat(IMAGE_NOTE + NEXT), shown("image", chatImage)],
    responses: item([{ type: "input_image", image_url: pngUri, detail: "auto" }]),
    anthropic: claude([claudeImage]),
    gemini: gemini("image", { output: IMAGE_NOTE }, inline("image/png", PIXEL)),
    aiSdk: { type: "content", value: [{ type: "image-data", data: PIXEL, mediaType: "image/png" }] },
  },
  audio: {
    ...same("audio", AUDIO_NOTE),
    // Not allowed in a function response, but allowed in the content.
    gemini: gemini("audio", { output: "[audio, audio/wav, 4 bytes] (after the responses)" }, undefined, [
      ...[{ text: said("audio") }, ...inline("audio/wav", WAV)],
    ]),
    aiSdk: {
      type: "content",
      value: [{ type: "file-data", data: WAV, mediaType: "audio/wav", filename: "audio.wav" }],
    },
  },
  pdf: {
    chat: [
      ...chat(PDF_NOTE + NEXT),
      shown("pdf", { type: "file", file: { filename: "paper.pdf", file_data: pdfUri } }),
    ],
    responses: item([{ type: "input_file", filename: "paper.pdf", file_data: pdfUri }]),
    anthropic: claude([claudePdf]),
    gemini: gemini("pdf", { output: PDF_NOTE }, inline("application/pdf", PDF)),
    aiSdk: {
      type: "content",
      value: [{ type: "file-data", data: PDF, mediaType: "application/pdf", filename: "paper.pdf" }],
    },
  },
  words: same("words", WORDS),
  link: same("link", LINK_NOTE),
  structured: same("structured", '{"sum":5}'),
  summary: {
    ...same("summary", 'It is five\n{"sum":5}'),
    anthropic: claude([
      { type: "text", text: "It is five" },
      { type: "text", text: '{"sum":5}' },
    ]),
  },
  repeated: same("repeated", '{"sum":5}'),
  empty: same("empty", "[no output]"),
  error: failed("error", "It broke"),
  bareError: failed("bareError", "The tool failed without a message"),
  brokenImage: {
    chat: [...chat(`Error: It broke\n${IMAGE_NOTE}${NEXT}`), shown("brokenImage", chatImage)],
    responses: item([
      { type: "input_text", text: "Error:" },
      { type: "input_text", text: "It broke" },
      { type: "input_image", image_url: pngUri, detail: "auto" },
    ]),
    anthropic: claude(
      [
        { type: "text", text: "It broke" },
        { type: "text", text: `${IMAGE_NOTE} (after the results)` },
      ],
      true,
      { type: "text", text: said("brokenImage") },
      claudeImage,
    ),
    gemini: gemini("brokenImage", { error: `It broke\n${IMAGE_NOTE}` }, inline("image/png", PIXEL)),
    aiSdk: { type: "error-text", value: "It broke\n[image, image/png, 70 bytes, left out]" },
  },
};

let server: TestServer;
beforeAll(() => {
  server = createTestServer({
    tools: Object.fromEntries(KINDS.map((kind) => [kind, { handler: () => ANSWERS[kind]! }])),
    prompts: {
      ...Object.fromEntries(
        Object.entries({ image, audio, pdf, words, link, zip, raw }).map(([name, content]) => [
          name,
          { get: () => [{ role: "user" as const, content }] },
        ]),
      ),
      talk: {
        get: () => [
          { role: "user" as const, content: { type: "text" as const, text: "Hi" } },
          { role: "assistant" as const, content: { type: "text" as const, text: "Ho" } },
        ],
      },
      painted: { get: () => [{ role: "assistant" as const, content: image }] },
    },
  });
});
afterAll(() => server.close());

const open = () => createToolport({ mcpServers: { s: server.memory() } });
type Port = ReturnType<typeof open>;

const PROVIDERS: Record<keyof Row, (port: Port, kind: string, strictContent?: boolean) => Promise<unknown>> =
  {
    chat: (port, kind, strictContent) =>
      runOpenAIToolCalls(
        port,
        { tool_calls: [{ id: "1", type: "function", function: { name: `s__${kind}`, arguments: "" } }] },
        { strictContent },
      ),
    responses: (port, kind, strictContent) =>
      runOpenAIToolCalls(
        port,
        [{ type: "function_call", call_id: "1", name: `s__${kind}`, arguments: "{}" } as { type: string }],
        { strictContent },
      ),
    anthropic: (port, kind, strictContent) =>
      runAnthropicToolCalls(
        port,
        { content: [{ type: "tool_use", id: "1", name: `s__${kind}`, input: {} } as { type: string }] },
        { strictContent },
      ),
    gemini: (port, kind, strictContent) =>
      runGeminiToolCalls(
        port,
        { parts: [{ functionCall: { id: "1", name: `s__${kind}`, args: {} } }] },
        { strictContent },
      ),
    aiSdk: async (port, kind, strictContent) => {
      const tool = (await toAiSdkTools(port, { strictContent }))[`s__${kind}`]!;
      const output: unknown = await tool.execute!({}, { toolCallId: "1", messages: [] });
      return tool.toModelOutput!({ toolCallId: "1", input: {}, output });
    },
  };
const NAMES = Object.keys(PROVIDERS) as (keyof Row)[];

describe.each(KINDS)("a result with %s", (kind) => {
  test.each(NAMES)("for %s", async (provider) => {
    await using port = open();
    expect(await PROVIDERS[provider](port, kind)).toEqual(TABLE[kind]![provider]);
  });
});

describe("strictContent", () => {
  const REFUSED: Record<keyof Row, string[]> = {
    chat: ["audio", "link"],
    responses: ["audio", "link"],
    anthropic: ["audio", "link"],
    gemini: ["link"],
    aiSdk: ["link"],
  };
  test.each(NAMES)("is an error for content that %s does not accept, and only for that", async (provider) => {
    await using port = open();
    const refused: string[] = [];
    for (const kind of KINDS)
      await PROVIDERS[provider](port, kind, true).catch((error) => {
        expect(error).toMatchObject({ code: "UNSUPPORTED_CONTENT", server: "s" });
        refused.push(kind);
      });
    expect(refused).toEqual(REFUSED[provider]);
  });
});

describe("a prompt", () => {
  const FORMS = {
    chat: toOpenAIMessages,
    responses: (prompt: Parameters<typeof toOpenAIMessages>[0], options = {}) =>
      toOpenAIMessages(prompt, { ...options, api: "responses" }),
    anthropic: toAnthropicMessages,
    gemini: toGeminiMessages,
    aiSdk: toAiSdkMessages,
  };
  const user = (...content: unknown[]) => [{ role: "user", content }];
  const contents = (...parts: unknown[]) => [{ role: "user", parts }];
  const file = (data: string, mediaType: string, filename: string) => ({
    type: "file",
    data,
    mediaType,
    filename,
  });
  const EXPECTED: Record<string, Partial<Row>> = {
    image: {
      chat: user(chatImage),
      responses: user({ type: "input_image", image_url: pngUri, detail: "auto" }),
      anthropic: user(claudeImage),
      gemini: contents(...inline("image/png", PIXEL)),
      aiSdk: user(file(PIXEL, "image/png", "image.png")),
    },
    audio: {
      chat: user({ type: "input_audio", input_audio: { data: WAV, format: "wav" } }),
      gemini: contents(...inline("audio/wav", WAV)),
      aiSdk: user(file(WAV, "audio/wav", "audio.wav")),
    },
    pdf: {
      chat: user({ type: "file", file: { filename: "paper.pdf", file_data: pdfUri } }),
      responses: user({ type: "input_file", filename: "paper.pdf", file_data: pdfUri }),
      anthropic: user(claudePdf),
      gemini: contents(...inline("application/pdf", PDF)),
      aiSdk: user(file(PDF, "application/pdf", "paper.pdf")),
    },
    words: {
      chat: [{ role: "user", content: WORDS }],
      responses: [{ role: "user", content: WORDS }],
      anthropic: [{ role: "user", content: WORDS }],
      gemini: contents({ text: WORDS }),
      aiSdk: [{ role: "user", content: WORDS }],
    },
    zip: { aiSdk: user(file("emlw", "application/zip", "a.zip")) },
    // Bytes of no known type.
    raw: {},
    link: {},
    painted: {},
  };

  test.each(NAMES)("for %s", async (name) => {
    await using port = open();
    const toMessages = FORMS[name] as typeof toAnthropicMessages;
    for (const [prompt, expected] of Object.entries(EXPECTED)) {
      const rendered = await port.getPrompt("s", prompt);
      const wanted = expected[name];
      if (wanted !== undefined) expect(toMessages(rendered)).toEqual(wanted);
      else {
        const refused = failure(Promise.resolve().then(() => toMessages(rendered)));
        expect(await refused).toMatchObject({ code: "UNSUPPORTED_CONTENT", server: "s" });
        expect(JSON.stringify(toMessages(rendered, { strictContent: false }))).toMatch(
          /Resource: file|\[(image|audio),/,
        );
      }
    }
    const talk = toMessages(await port.getPrompt("s", "talk"));
    expect(talk).toEqual(
      name === "gemini"
        ? [
            { role: "user", parts: [{ text: "Hi" }] },
            { role: "model", parts: [{ text: "Ho" }] },
          ]
        : [
            { role: "user", content: "Hi" },
            { role: "assistant", content: "Ho" },
          ],
    );
  });
});
