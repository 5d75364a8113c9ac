/**
 * A durable engine runs a step again if its process dies. With a key, the tool of the step is still called once.
 *
 * Run it on Node 24 or later: npm run build && node examples/retried-activity.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";

const me = fileURLToPath(import.meta.url);

/** The step, as an engine runs it: every attempt in a new process, always with the same ids. */
async function runActivity([url = "", file = "", id = "", attempt = ""]: readonly string[]): Promise<void> {
  const store = sqliteStore(file);
  const toolport = createToolport({ mcpServers: { bank: { url } }, store });
  const out = await toolport.callTool("bank__pay", { amount: 5 }, { suspend: { key: id } });
  // The money is gone, but the engine does not know it yet.
  if (attempt === "1") process.kill(process.pid, "SIGKILL");
  console.log(out.suspended ? out.reason : out.text);
  await toolport.close();
  await store.close();
}

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "toolport-example-"));
  let payments = 0;
  const server = createTestServer({ tools: { pay: { handler: () => `payment ${++payments} is done` } } });
  const { url } = await server.http();

  /** The engine: tries again until an attempt returns. */
  for (let attempt = 1; ; attempt += 1) {
    const args = [me, url, join(folder, "state.db"), "workflow-7/pay", String(attempt)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
    print(`attempt ${attempt}: ${child.signalCode ?? output.trim()}`);
    if (child.exitCode === 0) break;
  }
  print(`${payments} payment`);
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

if (process.argv.length > 2) await runActivity(process.argv.slice(2));
else if (process.argv[1] === me) await main();
