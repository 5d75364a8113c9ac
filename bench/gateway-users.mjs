/** Measures the heap of an idle user of a gateway, by era, number of upstreams and stage. Run with --expose-gc. */
import { fork } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createToolport } from "../dist/index.js";
import { createGateway } from "../dist/serve/index.js";
import { createTestServer } from "../dist/testing/index.js";

const USERS = Number(process.env.USERS ?? 300);

if (process.argv[2] === "--upstreams") {
  const urls = [];
  for (let index = 0; index < Number(process.argv[3]); index += 1) {
    const tools = {};
    for (let tool = 0; tool < 20; tool += 1)
      tools[`tool_${tool}`] = {
        description: `Tool ${tool} does something that takes a sentence or two to describe to a model.`,
        inputSchema: { type: "object", properties: { text: { type: "string" }, count: { type: "number" } } },
        handler: () => "ok",
      };
    const server = createTestServer({ tools, era: process.argv[4] });
    urls.push((await server.http()).url);
  }
  process.send(urls);
} else {
  await main();
}

async function settledHeap() {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage().heapUsed;
}

/** Writes a heap snapshot into the working directory, to see what a user consists of: SNAPSHOT=modern-10. */
async function snapshot(stage) {
  const { writeHeapSnapshot } = await import("node:v8");
  await settledHeap();
  console.log(writeHeapSnapshot(`${stage}.heapsnapshot`));
}

async function main() {
  const rows = [];
  const [eras, counts] = [process.env.ERAS ?? "modern,legacy", process.env.UPSTREAMS ?? "1,10"];
  for (const era of eras.split(","))
    for (const upstreams of counts.split(",")) rows.push(await measure(era, Number(upstreams)));
  console.table(rows);
}

async function measure(era, upstreams) {
  const child = fork(fileURLToPath(import.meta.url), ["--upstreams", String(upstreams), era]);
  const [urls] = await once(child, "message");
  const mcpServers = Object.fromEntries(urls.map((url, index) => [`s${index}`, { url }]));
  const toolport = createToolport({ mcpServers });
  // The gateway brings the code for its users.
  const gateway = createGateway(toolport, { auth: false });
  const users = toolport[Symbol.for("toolport.port")].users;
  const call = async (name) => {
    const port = users.use(name, "needed");
    await port.run(await port.findForCall("s0__tool_3"), { text: "a" }, {});
  };
  const each = async (run, kind = "user") => {
    for (let start = 0; start < USERS; start += 20)
      await Promise.all(Array.from({ length: 20 }, (_, index) => run(`${kind}-${start + index}`)));
  };
  const list = (name) => users.use(name, "needed").need("tools", { limitMs: 120_000 });
  const rest = async () => {
    users.rest(0);
    // Sockets close in the background.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  };
  // Other users go through all stages first: modules, compiled code and shared caches are not part of a user.
  await each(call, "warm");
  await each(list, "warm");
  await rest();
  await each(call, "warm");
  await rest();
  if (process.env.SNAPSHOT === `${era}-${upstreams}`) await snapshot("before");
  const before = await settledHeap();
  const perUser = async () => Number((((await settledHeap()) - before) / USERS / 1024).toFixed(1));
  const row = { era, upstreams };
  await each(async (name) => void users.use(name, "needed"));
  row["created KB"] = await perUser();
  if (process.env.SNAPSHOT === `${era}-${upstreams}`) await snapshot("created");
  await each(call);
  row["1 call KB"] = await perUser();
  await each(list);
  row["all listed KB"] = await perUser();
  await rest();
  row["resting KB"] = await perUser();
  if (process.env.SNAPSHOT === `${era}-${upstreams}`) await snapshot("resting");
  await each(call);
  row["after a call KB"] = await perUser();
  await gateway.close();
  await toolport.close();
  child.kill();
  return row;
}
