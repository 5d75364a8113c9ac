/** A chat in the terminal. It asks before a tool changes something, and Ctrl-C cancels what is running. */
import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ApprovalRequest, createToolport } from "toolport";
import { runAgentLoop } from "toolport/testing";
import { createModel } from "./model.ts";

const terminal = createInterface({ input: stdin, output: stdout });
const lines = terminal[Symbol.asyncIterator]();
let nextLine: Promise<IteratorResult<string>> | undefined;

/** Asks one question. Returns undefined when the input has ended, and throws when the signal is aborted. */
async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  terminal.setPrompt(question);
  terminal.prompt();
  // A cancelled question leaves its line to the next one.
  nextLine ??= lines.next();
  const cancelled = new Promise<never>((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const { value, done } = await Promise.race([nextLine, cancelled]);
  nextLine = undefined;
  return done === true ? undefined : value.trim();
}

/** Two calls of one turn may need approval at the same time: they wait for each other. */
let lastApproval: Promise<unknown> = Promise.resolve();
function approve({ server, tool, args, signal }: ApprovalRequest): Promise<boolean> {
  const question = `  ${server.name} wants to ${tool.sourceName} ${JSON.stringify(args)}. Allow? (y/n) `;
  const answer = lastApproval.then(async () => /^y(es)?$/i.test((await ask(question, signal)) ?? ""));
  lastApproval = answer.catch(() => {});
  return answer;
}

const toolport = createToolport({
  mcpServers: {
    notes: {
      command: process.execPath,
      args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))],
      trustAnnotations: true, // our own server: its read-only tools run without a question
    },
  },
  approve,
});

// One run at a time. Ctrl-C cancels it, also on the server; without a run, Ctrl-C ends the chat.
let running: AbortController | undefined;
const interrupt = () => (running === undefined ? terminal.close() : running.abort());
terminal.on("SIGINT", interrupt);
process.on("SIGINT", interrupt);

const model = createModel(
  (text) => stdout.write(text),
  () => running?.signal,
);
const { servers } = await toolport.connect();
for (const [name, { state, toolCount, error }] of Object.entries(servers))
  console.log(`${name}: ${state}, ${toolCount} tools ${error?.message ?? ""}`);

for (;;) {
  const prompt = await ask("> ");
  if (prompt === undefined || prompt === "exit") break;
  if (prompt === "") continue;
  running = new AbortController();
  const { signal } = running;
  try {
    await runAgentLoop({
      toolport,
      model,
      prompt,
      signal,
      callOptions: { onProgress: ({ message }) => console.log(`  … ${message}`) },
      onStep: ({ answers }) => {
        for (const { tool, isError } of answers) console.log(`  ${isError ? "✗" : "✓"} ${tool}`);
      },
    });
    console.log();
  } catch (error) {
    console.log(signal.aborted ? "\n  Cancelled." : `\n  ${(error as Error).message}`);
  } finally {
    running = undefined;
  }
}
terminal.close();
await toolport.close(); // ends the server's process
