/** Google's client with Toolport, streaming and not, with both forms of schemas, against a local double. */
import { type Content, GoogleGenAI, type Part } from "@google/genai";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { expect, test } from "vitest";
import { startModelDouble } from "./model-double.js";
import { geminiProblems } from "./provider-rules.js";
import { AGENT_SCRIPT, openWorkshop, PIXEL } from "./workshop.js";

test.each([
  { stream: false, schema: "json" },
  { stream: true, schema: "json" },
  { stream: false, schema: "openapi" },
] as const)(
  "single and parallel calls, failures and an image (stream: $stream, $schema)",
  async ({ stream, schema }) => {
    await using workshop = openWorkshop();
    await using double = await startModelDouble(AGENT_SCRIPT);
    const { toolport } = workshop;
    const client = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: double.url } });
    const tools = await toGeminiTools(toolport, { schema });
    const contents: Content[] = [{ role: "user", parts: [{ text: "Do your work" }] }];
    let said = "";
    for (let turn = 0; turn < 10; turn += 1) {
      const request = { model: "gemini-3-pro", contents: [...contents], config: { tools } };
      const parts: Part[] = [];
      if (stream) {
        for await (const chunk of await client.models.generateContentStream(request))
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      } else {
        const response = await client.models.generateContent(request);
        parts.push(...(response.candidates?.[0]?.content?.parts ?? []));
      }
      contents.push({ role: "model", parts });
      const answers = await runGeminiToolCalls(toolport, { parts }, { tools });
      said = parts.map(({ text }) => text ?? "").join("");
      if (answers.length === 0) break;
      contents.push(...answers);
    }
    expect(said).toBe("All done");
    expect(double.requests).toHaveLength(5);
    expect(double.requests.flatMap(geminiProblems)).toEqual([]);
    const [{ functionDeclarations }] = double.requests[0].tools;
    // With read_artifact.
    expect(functionDeclarations).toHaveLength(110);
    expect(functionDeclarations[0]).toHaveProperty(schema === "json" ? "parametersJsonSchema" : "parameters");
    const responses = double.requests
      .at(-1)
      .contents.flatMap(({ parts }: Content) => parts)
      .flatMap(({ functionResponse }: Part) => (functionResponse ? [functionResponse] : []));
    const { output, error } = {
      output: (name: string, text: unknown) => ({ name, response: { output: text } }),
      error: (name: string, text: unknown) => ({ name, response: { error: text } }),
    };
    expect(responses).toEqual([
      output("math__add", '{"sum":5}'),
      output("lab__meet", "Ada met the other"),
      output("lab__meet", "Bob met the other"),
      error("lab__fail", "The flask broke"),
      error("lab__vanish", expect.stringContaining("TOOL_NOT_FOUND")),
      error("math__add", expect.stringContaining("INVALID_ARGUMENTS")),
      {
        ...output("art__picture", "A pixel\n[image, image/png, 70 bytes]"),
        parts: [{ inlineData: { mimeType: "image/png", data: PIXEL } }],
      },
    ]);
  },
);

test("accepts a whole response, returns ids, and sends images separately to models before Gemini 3", async () => {
  await using workshop = openWorkshop();
  const response = {
    candidates: [
      { content: { parts: [{ functionCall: { id: "7", name: "art__picture" } }, { text: "…" }] } },
    ],
  };
  expect(await runGeminiToolCalls(workshop.toolport, response, { media: "content" })).toEqual([
    {
      role: "user",
      parts: [
        {
          functionResponse: {
            id: "7",
            name: "art__picture",
            response: { output: "A pixel\n[image, image/png, 70 bytes] (after the responses)" },
          },
        },
        { text: "What art__picture answered:" },
        { inlineData: { mimeType: "image/png", data: PIXEL } },
      ],
    },
  ]);
  expect(await runGeminiToolCalls(workshop.toolport, { candidates: [] })).toEqual([]);
});
