/**
 * One of many clients that are killed at random moments: `node kill-host.mjs <job as JSON>`.
 *
 * Prints `ready`, then makes calls one after the other and resumes them, and also resumes calls of other processes. It prints `begin <id>` before a
 * call, `token <id> <token>` when it waits, and `end <id> <what>` when the caller has a result or an error.
 */
import { createToolport, isSuspended } from "toolport";
import { openHostStore } from "./fault-host-stores.mjs";

const { store: place, servers, prefix } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${line}\n`);
const store = await openHostStore(place);
const toolport = createToolport({ mcpServers: servers, store });
const accept = (content) => ({ action: "accept", content });

/** Accepts whatever is asked. */
const answersTo = ({ requests }) =>
  Object.fromEntries(
    Object.entries(requests).map(([key, { requestedSchema }]) => [
      key,
      accept("seat" in requestedSchema.properties ? { seat: "12A" } : { pay: true }),
    ]),
  );

async function finish(id, out) {
  let current = out;
  while (isSuspended(current)) {
    say(`token ${id} ${current.token}`);
    current = await toolport.resume(current.token, { answers: answersTo(current) });
  }
  say(`end ${id} result`);
}

// Connects and opens the store first, so that the kill hits a call and not the start of the process.
await toolport.connect();
await toolport.suspended();
say("ready");

const TOOLS = ["book", "tour", "note"];
for (let count = 0; ; count += 1) {
  const tool = TOOLS[Math.floor(Math.random() * TOOLS.length)];
  const isKeyed = tool === "note" || Math.random() < 0.5;
  const id = `${prefix}.${count}-${tool}${isKeyed ? "-key" : ""}`;
  say(`begin ${id}`);
  try {
    const out = await toolport.callTool(`travel__${tool}`, { id }, { suspend: isKeyed ? { key: id } : true });
    // Some calls are left to other processes, which find them in the list.
    if (isSuspended(out) && Math.random() < 0.3) continue;
    await finish(id, out);
  } catch (error) {
    say(`end ${id} ${error.code} ${error.outcome}`);
  }
  if (Math.random() < 0.7) continue;
  const [waiting] = (await toolport.suspended()).filter(() => Math.random() < 0.5);
  if (waiting === undefined) continue;
  try {
    await finish(waiting.args.id, waiting);
  } catch (error) {
    say(`end ${waiting.args.id} ${error.code} ${error.outcome}`);
  }
}
