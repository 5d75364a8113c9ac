/** C18: `kill -9` at every `await` of a program with five calls. Each call is made once, and the program ends in another process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { sqlite } from "../suspend/fault-stores.js";

const HOST = fileURLToPath(new URL("./program-host.mjs", import.meta.url));

const PROGRAM = `
  const results = [];
  for (let n = 1; n <= 5; n += 1) {
    results.push(await tools.box.work({ n }).catch((error) => error.code));
    console.log("after " + n);
  }
  return results;
`;

/** Counts what it does, and never answers the call number `silentAt`. */
async function startBox(silentAt?: number) {
  const done: number[] = [];
  const called = new Map<number, () => void>();
  const server = createTestServer({
    tools: {
      work: {
        inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        handler: ({ n }) => {
          done.push(n as number);
          called.get(n as number)?.();
          return n === silentAt ? new Promise<string>(() => {}) : `did ${n as number}`;
        },
      },
    },
  });
  const { url } = await server.http();
  const work = (n: number) =>
    new Promise<void>((resolve) => {
      called.set(n, resolve);
    });
  return { url, done, work, [Symbol.asyncDispose]: () => server.close() };
}

/** Starts the host and kills it when it prints one of these lines, or when `until` settles. Returns the last line. */
async function runUntil(
  job: object,
  isLast: (line: string) => boolean,
  until?: Promise<void>,
): Promise<string> {
  const child = spawn(process.execPath, [HOST, JSON.stringify(job)], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  let last = "";
  const lines = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      last = line;
      if (isLast(line)) return;
    }
    throw new Error(`The host ended: ${errors}`);
  })();
  try {
    await (until === undefined ? lines : Promise.race([lines, until]));
  } finally {
    child.kill("SIGKILL");
    await exited;
    await lines.catch(() => {});
  }
  return last;
}

const isEnd = (line: string) => /^(?:waits|ends) /.test(line);

/** Continues the program in new processes until it ends. */
async function finish(job: object, first: string) {
  let line = first;
  while (!line.startsWith("ends ")) {
    const token = line.slice("waits ".length);
    line = await runUntil({ ...job, token }, isEnd);
  }
  return JSON.parse(line.slice("ends ".length)) as { value: unknown; calls: { ok: boolean }[] };
}

/** Where a process is killed: behind which `await`, or while which call is on its way. */
const POINTS = [
  // After the last call nothing is left to wait for: the process may have ended the program before it is killed.
  ...[1, 2, 3, 4].map((n) => ({ name: `after call ${n}`, after: n, silentAt: undefined })),
  { name: "during call 4", after: undefined, silentAt: 4 },
];

test.concurrent.each(POINTS)("killed $name", async ({ after, silentAt }) => {
  await using box = await startBox(silentAt);
  await using store = await sqlite.start();
  const job = { store: store.place, url: box.url, source: PROGRAM };
  const inFlight = silentAt === undefined ? undefined : box.work(silentAt);
  let line = await runUntil(job, isEnd);
  let isKilled = false;
  while (!isKilled && !line.startsWith("ends ")) {
    const token = line.slice("waits ".length);
    const last = await runUntil(
      { ...job, token },
      (text) => isEnd(text) || text === `line after ${after}`,
      inFlight,
    );
    isKilled = !isEnd(last);
    // A killed process has not reported: its token still works.
    if (!isKilled) line = last;
  }
  expect(isKilled).toBe(true);
  const { value } = await finish(job, line);
  // The kill may hit the next call on its way: its outcome is unknown then, and it is not made again.
  const uncertain = silentAt ?? after! + 1;
  const certain = [1, 2, 3, 4, 5].filter((n) => n !== uncertain);
  const results = value as string[];
  expect(certain.map((n) => results[n - 1])).toEqual(certain.map((n) => `did ${n}`));
  expect(["OUTCOME_UNKNOWN", ...(silentAt === undefined ? [`did ${uncertain}`] : [])]).toContain(
    results[uncertain - 1],
  );
  expect(box.done.filter((n) => n !== uncertain)).toEqual(certain);
  expect(box.done.filter((n) => n === uncertain).length).toBeLessThanOrEqual(1);
});

test("an image that was changed in the store is not continued", async () => {
  await using box = await startBox();
  await using store = await sqlite.start();
  const source = `return tools.box.work({ n: 1 })`;
  const line = await runUntil({ store: store.place, url: box.url, source }, isEnd);
  await using toolport = createToolport({ mcpServers: { box: { url: box.url } }, store: store.open() });
  await using code = createCodeMode(toolport);
  const [key] = await store.open().list("programs/");
  await store.damage!(key!);
  expect(await failure(code.resume(line.slice("waits ".length), { approve: true }))).toMatchObject({
    code: "CORRUPT",
    outcome: "unsent",
  });
  expect(box.done).toEqual([]);
});
