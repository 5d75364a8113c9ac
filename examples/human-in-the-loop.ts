/**
 * A tool asks the user something. The process that called it is killed before the answer; another process sends the answer.
 *
 * Run it on Node 24 or later: npm run build && node examples/human-in-the-loop.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { inputRequired } from "@modelcontextprotocol/server";
import { createToolport, isSuspended } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";

const me = fileURLToPath(import.meta.url);

/** One process of the application. It prints what it got and is killed at once, without a chance to clean up. */
async function runStep([step = "", url = "", file = "", token = ""]: readonly string[]): Promise<void> {
  const toolport = createToolport({ mcpServers: { travel: { url } }, store: sqliteStore(file) });
  const out =
    step === "call"
      ? await toolport.callTool("travel__book", { to: "Oslo" }, { suspend: true })
      : await toolport.resume(token, { answers: { seat: { action: "accept", content: { seat: "12A" } } } });
  writeSync(1, JSON.stringify(isSuspended(out) ? out : out.text));
  process.kill(process.pid, "SIGKILL");
}

/** A server that books a flight once it knows the seat. */
function createTravelServer() {
  const seen = { requests: 0, bookings: [] as string[] };
  const server = createTestServer({
    era: "modern", // suspending a question needs a server of revision 2026-07-28
    tools: {
      book: {
        handler({ to }, { request }) {
          seen.requests += 1;
          const { seat } = (request.mcpReq.inputResponses ?? {}) as {
            seat?: { content?: { seat?: string } };
          };
          if (seat === undefined)
            return inputRequired({ inputRequests: { seat: inputRequired.elicit(form) } });
          seen.bookings.push(`${to}, seat ${seat.content?.seat}`);
          return `booked ${seen.bookings.at(-1)}`;
        },
      },
    },
  });
  return { server, seen };
}

const form = {
  message: "Which seat?",
  requestedSchema: {
    type: "object" as const,
    properties: { seat: { type: "string" as const } },
    required: ["seat"],
  },
};

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "toolport-example-"));
  const { server, seen } = createTravelServer();
  const { url } = await server.http();
  const inNewProcess = async (step: string, token = "") => {
    const child = spawn(process.execPath, [me, step, url, join(folder, "state.db"), token], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return { output: JSON.parse(output), signal: child.signalCode };
  };

  const first = await inNewProcess("call");
  print(`process 1 asks: ${first.output.requests.seat.message} Then it gets ${first.signal}`);
  const second = await inNewProcess("resume", first.output.token); // hours later, on any machine with the same store
  print(`process 2: ${second.output}`);
  print(`${seen.requests} requests, ${seen.bookings.length} booking`);
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

if (process.argv.length > 2) await runStep(process.argv.slice(2));
else if (process.argv[1] === me) await main();
