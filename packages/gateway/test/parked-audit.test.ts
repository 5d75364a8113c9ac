/** The audit log about a call that waited for an answer, whichever replica got the answer. */
import { memoryStore, type ServerEntry } from "toolport";
import { type AuditEvent, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { sendModern } from "./support/raw-gateway-client.js";

const QUESTION = {
  mode: "form" as const,
  message: "Sure?",
  requestedSchema: { type: "object" as const, properties: { yes: { type: "boolean" as const } } },
};

/** Asks twice, and fails. */
const server = () =>
  createTestServer({
    era: "legacy",
    tools: {
      ask: {
        async handler(_args, { request }) {
          await request.mcpReq.elicitInput(QUESTION);
          await request.mcpReq.elicitInput(QUESTION);
          return { content: [{ type: "text", text: "no" }], isError: true };
        },
      },
    },
  });

test.each([1, 2])("on one of %i replicas", async (count) => {
  const upstream = server();
  onTestFinished(() => upstream.close());
  const { entry }: { entry: ServerEntry } = await upstream.http();
  const store = memoryStore();
  const events: AuditEvent[] = [];
  const policy = await readPolicy({ default: "allow", rules: [] });
  const urls: string[] = [];
  for (let replica = 0; replica < count; replica += 1) {
    const scene = await openGateway(
      { mcpServers: { up: entry }, store },
      { auth: false, policy, audit: (event) => void events.push(event) },
    );
    onTestFinished(() => scene[Symbol.asyncDispose]());
    urls.push(scene.url);
  }
  let requestState: unknown;
  for (const url of [urls[0]!, urls.at(-1)!, urls.at(-1)!]) {
    const answer = { action: "accept", content: { yes: true } };
    const params = { name: "up__ask", arguments: {} };
    const next = requestState === undefined ? {} : { requestState, inputResponses: { question1: answer } };
    const capabilities = { elicitation: { form: {} } };
    const reply = await sendModern(url, "tools/call", { ...params, ...next }, { capabilities });
    requestState = reply.message.result?.["requestState"];
  }
  const lines = events.filter(({ event }) => event === "request");
  expect(lines.map(({ server, tool, outcome }) => [server, tool, outcome])).toEqual([
    ["up", "ask", "waiting"],
    ["up", "ask", "waiting"],
    ["up", "ask", "error"],
  ]);
  expect(new Set(lines.map(({ definitionHash }) => definitionHash))).toHaveProperty("size", 1);
});
