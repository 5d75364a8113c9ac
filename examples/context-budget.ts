/**
 * A context budget: hundreds of tools and a result of half a megabyte, in a conversation of a few thousand tokens.
 *
 * The model finds the tool by a search. Its result is too large, so the model gets a note with the shape and reads only the part that it needs.
 * The model is a local scripted endpoint. Remove `baseURL` and set a key to use a real one.
 * Run it on Node 24 or later: npm run build && node examples/context-budget.ts
 */
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { createToolport } from "toolport";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer, type TestTool } from "toolport/testing";

/** 1,300 issues. One of them is about login. */
const ISSUES = Array.from({ length: 1_300 }, (_, id) => ({
  id,
  title: id === 811 ? "Login fails after an update" : `Report ${id} shows an old figure`,
  author: { name: `user-${id % 40}`, mail: `user-${id % 40}@example.com` },
  text: "It happens in one of five runs, since the last update of the lock file. ".repeat(5),
}));

const DEEDS = ["create", "update", "archive", "export", "assign"];
const THINGS = ["issue", "label", "release", "pipeline", "branch", "review", "milestone", "runner"];

/** Tools that this task does not need. */
const otherTools = Object.fromEntries(
  THINGS.flatMap((thing) => DEEDS.map((deed) => `${deed}_${thing}`)).map((name): [string, TestTool] => [
    name,
    {
      description: `Use this to ${name.replace("_", " one ")} of a project. ${"It checks your rights first. ".repeat(20)}`,
      inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      handler: () => "done",
    },
  ]),
);

/** An estimate. The providers' own counters are exact. */
const tokensIn = (text: string): number => Math.ceil(text.length / 4.35);

/** The script: search, list, read what is about login, answer. */
async function startModel(): Promise<LLMock> {
  const model = new LLMock({ port: 0 });
  const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: JSON.stringify(args) }] });
  model.on({ predicate: () => true }, ({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
    switch (results.length) {
      case 0:
        return call("search_tools", { query: "list issues", limit: 1 });
      case 1:
        return call("call_tool", { name: "tracker__list_issues", arguments: {} });
      case 2: {
        // The note names the artifact, as in: read_artifact with {"id":"…"}.
        const [, id] = /"id":"([^"]+)"/.exec(results[1] ?? "") ?? [];
        return call("read_artifact", { id, find: "login", fields: ["id", "title", "author.name"] });
      }
      default: {
        const [, title] = /"title":"([^"]+)"/.exec(results[2] ?? "") ?? [];
        return { content: `Yes: ${title}` };
      }
    }
  });
  await model.start();
  return model;
}

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const model = await startModel();
  await using server = createTestServer({
    tools: {
      ...otherTools,
      list_issues: { description: "Lists the issues of a project", handler: () => JSON.stringify(ISSUES) },
    },
  });
  await using toolport = createToolport({
    mcpServers: { tracker: server.memory() },
    deferTools: { mode: "auto", above: 5_000 }, // all definitions, if they take no more than 5,000 tokens
  });
  const openai = new OpenAI({ apiKey: "none", baseURL: `${model.url}/v1` });

  const { tokens, shown } = await toolport.cost();
  print(`definitions: about ${tokens} tokens, ${shown} of them at the start`);

  const tools = await toOpenAITools(toolport); // results above 100,000 bytes are cut; `forModel` sets another limit
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Is login broken?" }];
  for (;;) {
    const completion = await openai.chat.completions.create({ model: "gpt-5", messages, tools });
    const message = completion.choices[0]!.message;
    messages.push(message);
    const answers = await runOpenAIToolCalls(toolport, message, { tools });
    if (answers.length === 0) break;
    for (const { content } of answers) print(`result: about ${tokensIn(String(content))} tokens`);
    messages.push(...answers);
  }
  const sent = tokensIn(JSON.stringify({ tools, messages }));
  print(
    `whole conversation: about ${sent} tokens. The issues alone: about ${tokensIn(JSON.stringify(ISSUES))}`,
  );
  print(`model: ${messages.at(-1)!.content}`);
  await model.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
