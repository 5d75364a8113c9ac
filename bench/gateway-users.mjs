/** Measures the heap of an idle user, of a gateway and of `as()`, by era, number of upstreams and stage. Run with --expose-gc. */
import { fork } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createGateway } from "../packages/toolport/dist/gateway/index.js";
import { createToolport } from "../packages/toolport/dist/index.js";
import { createTestServer } from "../packages/toolport/dist/testing/index.js";

const USERS = Number(process.env.USERS ?? 300);
const [ERAS, UPSTREAMS] = [process.env.ERAS ?? "modern,legacy", process.env.UPSTREAMS ?? "1,10"];
/** Limits of an idle user in KB, by number of upstreams. */
const LIMITS = { 1: 18, 10: 25 };

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
  for (const measure of [measureGateway, measureLibrary])
    for (const era of ERAS.split(","))
      for (const count of UPSTREAMS.split(","))
        rows.push(
          await withUpstreams(era, Number(count), (mcpServers) => measure(era, Number(count), mcpServers)),
        );
  console.table(rows);
  const heavy = rows.filter((row) => row["resting KB"] > (LIMITS[row.upstreams] ?? Number.POSITIVE_INFINITY));
  if (heavy.length > 0) process.exitCode = 1;
}

async function withUpstreams(era, count, measure) {
  const child = fork(fileURLToPath(import.meta.url), ["--upstreams", String(count), era]);
  try {
    const [urls] = await once(child, "message");
    return await measure(Object.fromEntries(urls.map((url, index) => [`s${index}`, { url }])));
  } finally {
    child.kill();
  }
}

/** Runs it for all users, 20 at a time. */
async function each(run, kind = "user") {
  for (let start = 0; start < USERS; start += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => run(`${kind}-${start + index}`)));
}

/** Returns a function that measures what a user has added since now. */
async function heapPerUser() {
  const before = await settledHeap();
  return async () => Number((((await settledHeap()) - before) / USERS / 1024).toFixed(1));
}

function portOf(toolport) {
  return toolport[Symbol.for("toolport.port")];
}

async function measureGateway(era, upstreams, mcpServers) {
  const toolport = createToolport({ mcpServers });
  const gateway = createGateway(toolport, { auth: false });
  const { users } = portOf(toolport);
  const call = async (name) => {
    const port = users.use(name, "needed");
    await port.run(await port.findForCall("s0__tool_3"), { text: "a" }, {});
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
  const isShown = process.env.SNAPSHOT === `${era}-${upstreams}`;
  if (isShown) await snapshot("before");
  const perUser = await heapPerUser();
  const row = { users: "gateway", era, upstreams };
  await each(async (name) => void users.use(name, "needed"));
  row["created KB"] = await perUser();
  if (isShown) await snapshot("created");
  await each(call);
  row["1 call KB"] = await perUser();
  await each(list);
  row["all listed KB"] = await perUser();
  await rest();
  row["resting KB"] = await perUser();
  if (isShown) await snapshot("resting");
  await each(call);
  row["after a call KB"] = await perUser();
  await gateway.close();
  await toolport.close();
  return row;
}

/** Users of `as()`, whose connections close after `idleTimeoutMs`. The first call of a user reads all lists of all servers. */
async function measureLibrary(era, upstreams, mcpServers) {
  const toolport = createToolport({ mcpServers, idleTimeoutMs: 1_000 });
  const { users } = portOf(toolport);
  const call = (name) => toolport.as(name).callTool("s0__tool_3", { text: "a" });
  const list = async (name) => void (await toolport.as(name).tools());
  /** No connection is left. Sockets close in the background. */
  const rest = async (kind = "user") => {
    const isIdle = async (name) => {
      while (users.peek(name).pool.created().length > 0)
        await new Promise((resolve) => setTimeout(resolve, 100));
    };
    await each(isIdle, kind);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  };
  await each(call, "warm");
  await each(list, "warm");
  await rest("warm");
  await each(call, "warm");
  await rest("warm");
  const isShown = process.env.SNAPSHOT === `library-${era}-${upstreams}`;
  if (isShown) await snapshot("library-before");
  const perUser = await heapPerUser();
  const row = { users: "as()", era, upstreams };
  await each(async (name) => void toolport.as(name));
  row["created KB"] = await perUser();
  await each(call);
  await each(list);
  await rest();
  row["resting KB"] = await perUser();
  if (isShown) await snapshot("library-resting");
  await toolport.close();
  return row;
}
