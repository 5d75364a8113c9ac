/** Deferred tools with the newest package of OpenAI, which is not the installed one: its types, and its requests on the wire. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type OpenAI from "openai";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { beforeAll, expect, test } from "vitest";
import { checkSnippets } from "../../../test/docs/check-snippets.js";
import { startSearchDouble } from "./tool-search-double.js";
import { openWorkshop } from "./workshop.js";

const OPENAI_VERSION = "7.53.0";

interface Tools {
  fetchTool(folder: string, name: string, version: string): Promise<string>;
}
const { fetchTool } = (await import("../../../scripts/fetch-tool.mjs" as string)) as Tools;

let home = "";
beforeAll(async () => {
  home = await fetchTool("openai", "openai", OPENAI_VERSION);
}, 120_000);

test("its types accept every shape, and refuse what the API refuses", { timeout: 300_000 }, () => {
  const text = readFileSync("test/fixtures/tool-search-shapes.ts", "utf8").replace(
    'from "openai"',
    `from ${JSON.stringify(join(home, "index.mjs"))}`,
  );
  const isExpected = / *\/\/ @ts-expect-error `defer_loading` stands[^\n]*\n/;
  const snippets = [
    { path: "as it is", line: 1, text },
    // The check would notice a wrong shape.
    { path: "wrong", line: 1, text: text.replace(isExpected, "") },
  ];
  expect(text).toContain(OPENAI_VERSION);
  expect(checkSnippets(snippets)).toEqual([expect.stringMatching(/^wrong:.*defer_loading/)]);
});

test.each(["native", "client"] as const)(
  "its client searches and calls what it found (%s)",
  async (deferred) => {
    const { default: Client } = (await import(pathToFileURL(join(home, "index.mjs")).href)) as {
      default: typeof OpenAI;
    };
    await using workshop = openWorkshop({ deferTools: true });
    await using double = await startSearchDouble([
      { search: "adds numbers" },
      { calls: [{ name: "math__add", args: { a: 2, b: 3 } }] },
      "The sum is 5",
    ]);
    const client = new Client({ apiKey: "test", baseURL: `${double.url}/v1`, maxRetries: 0 });
    const tools = await toOpenAITools(workshop.toolport, { api: "responses", deferred });
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Add 2 and 3" }];
    let text = "";
    while (text === "") {
      const response = await client.responses.create({ model: "gpt-5.4", input: [...input], tools });
      input.push(...(response.output as OpenAI.Responses.ResponseInput));
      input.push(...(await runOpenAIToolCalls(workshop.toolport, response, { deferred: "client" })));
      text = response.output_text;
    }
    expect(text).toBe("The sum is 5");
    expect(workshop.servers.math.calls).toMatchObject([{ args: { a: 2, b: 3 } }]);
  },
);
