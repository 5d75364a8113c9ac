/**
 * Google's client with the tools of MCP servers, one of which returns an image.
 *
 * The model is a local scripted endpoint. Remove `httpOptions` and set a key to use a real one.
 * Run it on Node 24 or later: npm run build && node examples/gemini.ts
 */
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import { type Content, GoogleGenAI } from "@google/genai";
import { createToolport } from "toolport";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { createTestServer } from "toolport/testing";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const double = new LLMock({ port: 0 });
  double.on({ hasToolResult: false }, { toolCalls: [{ name: "art__paint", arguments: "{}" }] });
  double.on({ hasToolResult: true }, { content: "A single pixel" });
  await double.start();
  await using server = createTestServer({
    tools: { paint: { handler: () => [{ type: "image", data: PIXEL, mimeType: "image/png" }] } },
  });
  await using toolport = createToolport({ mcpServers: { art: server.memory() } });
  const gemini = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: double.url } });

  const tools = await toGeminiTools(toolport);
  const contents: Content[] = [{ role: "user", parts: [{ text: "Paint something, and say what it is" }] }];
  for (;;) {
    const response = await gemini.models.generateContent({
      model: "gemini-3-pro",
      contents,
      config: { tools },
    });
    contents.push(response.candidates![0]!.content!);
    const answers = await runGeminiToolCalls(toolport, response, { tools });
    if (answers.length === 0) {
      print(`model: ${response.text}`);
      break;
    }
    for (const part of answers[0]!.parts)
      if ("functionResponse" in part) print(`tool: ${JSON.stringify(part.functionResponse.response)}`);
    contents.push(...answers);
  }
  await double.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
