/**
 * Run by scripts/ai-versions.mjs beside a major version of the AI SDK: approvals and questions, each step in a process of its own, and
 * the decisive steps in two processes at once.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import { LLMock } from "@copilotkit/aimock";
import { inputRequired } from "@modelcontextprotocol/server";
import { generateText, stepCountIs } from "ai";
import { createToolport } from "toolport";
import { hasSuspended, resumeMessages, toAiSdkTools } from "toolport/ai-sdk";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";

const PROMPT = [{ role: "user", content: "Go on" }];
const ANSWER = { answers: { seat: { action: "accept", content: { seat: "12A" } } } };

if (process.argv[2] === undefined) await main();
else console.log(JSON.stringify(await step(JSON.parse(process.argv[2]))));

/** One request of a client, in a process that ends with it. */
async function step({ file, key, server, model: url, messages, approve, answers }) {
  const toolport = createToolport({
    mcpServers: { travel: { url: server } },
    store: sqliteStore(file, { key }),
    ...(approve && { approve: { when: "always" } }),
  });
  try {
    if (answers) return await resumeMessages(toolport, messages, answers);
    const { response, responseMessages, toolResults } = await generateText({
      model: createOpenAI({ apiKey: "none", baseURL: `${url}/v1` }).chat("gpt-5"),
      tools: await toAiSdkTools(toolport, {
        suspend: { key: "chat" },
        ...(approve && { needsApproval: "toolport" }),
      }),
      stopWhen: [hasSuspended(), stepCountIs(5)],
      messages,
    });
    // From version 7 on, `response` is that of the last step.
    const added = responseMessages ?? response.messages;
    return { messages: [...messages, ...added], outputs: toolResults.map(({ output }) => output) };
  } finally {
    await toolport.close();
  }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "toolport-ai-"));
  const calls = { pay: 0, book: 0 };
  const server = createTestServer({
    tools: {
      pay: { handler: ({ amount }) => `paid ${amount} (${++calls.pay})` },
      book: {
        handler(_args, { request }) {
          if (request.mcpReq.inputResponses?.seat) return `booked (${++calls.book})`;
          const properties = { seat: { type: "string" } };
          const form = { message: "Which seat?", requestedSchema: { type: "object", properties } };
          return inputRequired({ inputRequests: { seat: inputRequired.elicit(form) }, requestState: "1" });
        },
      },
    },
  });
  const double = new LLMock({ port: 0 });
  let turn = "";
  double.on({ predicate: () => true }, () =>
    turn === ""
      ? { content: "Done" }
      : { toolCalls: [{ id: "call_1", name: `travel__${turn}`, arguments: '{"amount":5}' }] },
  );
  try {
    await double.start();
    const base = {
      file: join(folder, "state.db"),
      key: Buffer.alloc(32, 7).toString("base64"),
      server: (await server.http()).url,
      model: double.url,
    };
    const run = async (given) => {
      const self = fileURLToPath(import.meta.url);
      const { stdout } = await promisify(execFile)(process.execPath, [
        self,
        JSON.stringify({ ...base, ...given }),
      ]);
      return JSON.parse(stdout);
    };
    const twice = (given) => Promise.all([run(given), run(given)]);

    turn = "pay";
    const asked = await run({ messages: PROMPT, approve: true });
    const request = asked.messages.at(-1).content.find(({ type }) => type === "tool-approval-request");
    assert.ok(request, "approval is requested");
    assert.equal(calls.pay, 0);
    turn = "";
    const { approvalId } = request;
    const answer = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved: true }],
    };
    const approved = [...asked.messages, answer];
    const changed = JSON.parse(JSON.stringify(approved).replaceAll(":5}", ":6}"));
    assert.match(JSON.stringify(await run({ messages: changed, approve: true })), /KEY_REUSED/);
    const forged = JSON.parse(JSON.stringify(approved).replaceAll("call_1", "call_2"));
    assert.match(JSON.stringify(await twice({ messages: forged, approve: true })), /UNKNOWN.*UNKNOWN/);
    assert.equal(calls.pay, 0);
    const both = await twice({ messages: approved, approve: true });
    both.push(await run({ messages: approved, approve: true }));
    for (const { messages } of both) assert.match(JSON.stringify(messages), /paid 5 \(1\)/);
    assert.equal(calls.pay, 1);

    turn = "book";
    const waiting = await run({ messages: PROMPT });
    const [{ suspended, token, requests }] = waiting.outputs;
    assert.deepEqual([suspended, requests.seat.message], [true, "Which seat?"]);
    assert.ok(!JSON.stringify(waiting.messages).includes(token), "the messages contain no token");
    const done = await twice({ messages: waiting.messages, answers: { [token]: ANSWER } });
    const texts = done.map(({ messages }) => messages.at(-1).content[0].output.value).sort();
    assert.match(texts[0], /continued before/);
    assert.equal(texts[1], "booked (1)");
    assert.equal(calls.book, 1);
    turn = "";
    const [{ messages }] = done;
    assert.match(JSON.stringify((await run({ messages })).messages), /Done/);
    assert.ok(!JSON.stringify(double.getRequests()).includes("tpc1."), "no request contains a token");
  } finally {
    await server.close();
    await double.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
