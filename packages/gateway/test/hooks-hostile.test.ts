/** A hostile legacy server behind a gateway: it cannot reach a client that it does not work for, nor flood one. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { createLinkedTransports } from "toolport";
import { expect, test } from "vitest";
import { ALL_CAPABILITIES, callFor, createTestCaller, createTestPort, type TestCaller } from "./hooks-rig.js";

type Message = {
  id?: string | number;
  method?: string;
  params?: { name?: string; [name: string]: unknown };
  error?: { code: number };
};

const elicitation = (id: string | number, params = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "elicitation/create",
  params: { message: `question ${id}`, requestedSchema: { type: "object", properties: {} }, ...params },
});

/** A server whose tool sends what the test says, and ends with the last answer. */
function createHostile(onCall: (send: (message: object) => void, id: unknown) => void, expected: number) {
  const answers: Message[] = [];
  const transport = async () => {
    const [client, server] = createLinkedTransports();
    const send = (message: object) => void server.send(message as JSONRPCMessage).catch(() => {});
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "h", version: "1" },
      },
      "tools/list": { tools: [{ name: "run", inputSchema: { type: "object" } }] },
      ping: {},
    };
    let calling: unknown;
    server.onmessage = (message) => {
      const { id, method } = message as Message;
      if (method === undefined) {
        answers.push(message as Message);
        if (answers.length === expected) send(done(calling));
      } else if (method === "tools/call") {
        calling = id;
        onCall(send, id);
      } else if (id !== undefined) send({ jsonrpc: "2.0", id, result: results[method] ?? {} });
    };
    await server.start();
    return client;
  };
  return { answers, entry: { transport, protocol: "legacy" as const } };
}

const done = (id: unknown) => ({ jsonrpc: "2.0", id, result: { content: [] } });

async function run(onCall: Parameters<typeof createHostile>[0], caller: TestCaller, expected = 0) {
  const { answers, entry } = createHostile(onCall, expected);
  const port = createTestPort({ up: entry });
  await callFor(port, { tool: "run" }, caller);
  return answers;
}

const capable = () => createTestCaller({ capabilities: ALL_CAPABILITIES });

/** A client that never answers. */
function createSilent() {
  const reasons: unknown[] = [];
  const questions: unknown[] = [];
  const caller: TestCaller = {
    ...capable(),
    answer: (question, signal) =>
      new Promise((_resolve, reject) => {
        questions.push(question);
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
      }),
  };
  return { caller, questions, reasons };
}

test("asks once, however often the same question is repeated", async () => {
  const { caller, questions, reasons } = createSilent();
  await run((send, id) => {
    for (let index = 0; index < 500; index += 1) send(elicitation("same"));
    send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "other" } });
    send(done(id));
  }, caller);
  expect(questions).toHaveLength(1);
  expect(reasons).toMatchObject([{ what: "The call that asked has ended" }]);
});

test("refuses methods that clients do not serve, and those that this client did not declare", async () => {
  const caller = createTestCaller({ capabilities: { roots: {} } });
  const answers = await run(
    (send) => {
      for (const method of ["sampling/createMessage", "tools/call", "__proto__", "constructor"])
        send({ jsonrpc: "2.0", id: method, method, params: {} });
    },
    caller,
    4,
  );
  expect(answers.map(({ error }) => error?.code)).toEqual([-32602, -32602, -32602, -32602]);
  expect(caller.questions).toEqual([]);
});

test("refuses a question that names the task of another call", async () => {
  const caller = capable();
  const related = { _meta: { "io.modelcontextprotocol/related-task": { taskId: "someone else's" } } };
  const answers = await run(
    (send) => {
      send(elicitation(1, related));
    },
    caller,
    1,
  );
  expect(answers).toMatchObject([{ id: 1, error: { code: -32602 } }]);
  expect(caller.questions).toEqual([]);
});

test("withdraws a question that the server cancels", async () => {
  const { caller, reasons } = createSilent();
  await run(
    (send) => {
      send(elicitation(7));
      send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
    },
    caller,
    1,
  );
  expect(reasons).toMatchObject([{ what: "The server has withdrawn its question" }]);
});

test("passes the client's own error to the server, and hides others", async () => {
  const failures = [
    Object.assign(new Error("no"), { code: -1, data: { a: 1 } }),
    new Error("secret path /home/x"),
  ];
  const caller: TestCaller = { ...capable(), answer: async () => Promise.reject(failures.shift()) };
  const answers = await run(
    (send) => {
      send(elicitation(1));
      send(elicitation(2));
    },
    caller,
    2,
  );
  expect(answers).toMatchObject([
    { id: 1, error: { code: -1, message: "no", data: { a: 1 } } },
    { id: 2, error: { code: -32603, message: "The client could not answer this request" } },
  ]);
});
