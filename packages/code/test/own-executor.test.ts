/** The executor of docs/code-mode.md, with a worker thread as its sandbox. */
import { Worker } from "node:worker_threads";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { readMarkdown } from "../../../test/docs/markdown.js";
import { runSnippet } from "../../../test/docs/run-snippet.js";

/** Runs programs as they are: enough for this test, and no sandbox for programs of a model. */
const SANDBOX = `
const { parentPort } = require("node:worker_threads");
const waiting = new Map();
const call = (server, tool) => (args) =>
  new Promise((resolve, reject) => {
    const id = waiting.size + 1;
    waiting.set(id, { resolve, reject });
    parentPort.postMessage({ type: "call", id, server, tool, args: args && JSON.stringify(args) });
  });
const finish = (end) => parentPort.postMessage({ type: "end", end: { ...end, cpuMs: 0 } });
parentPort.on("message", async ({ id, answer, source, tools }) => {
  if (answer !== undefined) {
    const { resolve, reject } = waiting.get(id);
    return answer.error ? reject(new Error(answer.error.message)) : resolve(JSON.parse(answer.value));
  }
  const members = Object.entries(tools).map(([server, names]) => [
    server,
    Object.fromEntries(names.map((tool) => [tool, call(server, tool)])),
  ]);
  const AsyncFunction = (async () => {}).constructor;
  try {
    const program = new AsyncFunction("tools", source);
    finish({ value: JSON.stringify(await program(Object.fromEntries(members))) });
  } catch ({ name, message }) {
    finish({ error: { code: "THROWN", name, message } });
  }
});`;

test("runs programs with an executor of the user's own", async () => {
  await using server = createTestServer({
    tools: { add: { handler: ({ a, b }) => String(Number(a) + Number(b)) } },
  });
  await using toolport = createToolport({ mcpServers: { calc: server.memory() } });
  const workers: Worker[] = [];
  const openSandbox = (onMessage: (message: unknown) => void) => {
    const worker = new Worker(SANDBOX, { eval: true });
    workers.push(worker);
    worker.on("message", onMessage);
    return { send: (message: unknown) => worker.postMessage(message), end: () => worker.terminate() };
  };
  const { blocks } = readMarkdown("docs/code-mode.md");
  const block = blocks.find(({ text }) => text.includes("const executor"))!;
  const uses = [
    'console.log((await code.execute("return await tools.calc.add({ a: 20, b: 22 });")).value);',
    "console.log((await code.execute(\"throw new RangeError('no');\")).error?.message);",
  ];
  const { printed } = await runSnippet([block.text, ...uses].join("\n"), { toolport, openSandbox });
  expect(printed).toEqual(["42", expect.stringContaining("RangeError: no")]);
  expect(workers).toHaveLength(2);
});
