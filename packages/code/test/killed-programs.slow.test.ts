/** C18: `kill -9` at every `await` of a program with five calls. Each call is made once, and the program ends in another process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { sqlite } from "../../../test/suspend/fault-stores.js";

const HOST = fileURLToPath(new URL("./program-host.mjs", import.meta.url));

const PROGRAM = `
  const results = [];
  for (let n = 1; n <= 5; n += 1) {
    results.push(await tools.box.work({ n }).catch((error) => error.code));
    console.log("after " + n);
  }
  return results;
`;

const CALLS = 5;

/** Counts what it does, and never answers the call number `silentAt`. */
async function startBox(silentAt?: number) {
  const done: number[] = [];
  let report = (): void => {};
  const called = new Promise<void>((resolve) => {
    report = resolve;
  });
  const server = createTestServer({
    tools: {
      work: {
        inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        handler: ({ n }) => {
          done.push(n as number);
          if (n !== silentAt) return `did ${n as number}`;
          report();
          return new Promise<string>(() => {});
        },
      },
    },
  });
  const { url } = await server.http();
  return { url, done, called, [Symbol.asyncDispose]: () => server.close() };
}

/** Starts the host, waits for its line, and kills it with SIGKILL; or kills it as soon as `until` settles. */
async function runAndKill(job: object, until?: Promise<void>): Promise<string | undefined> {
  const child = spawn(process.execPath, [HOST, JSON.stringify(job)], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const line = (async () => {
    for await (const text of createInterface({ input: child.stdout })) return text;
    throw new Error(`The host ended: ${errors}`);
  })();
  try {
    return await (until === undefined ? line : Promise.race([line, until.then(() => undefined)]));
  } finally {
    child.kill("SIGKILL");
    await exited;
    await line.catch(() => {});
  }
}

/** A program in a store of its own. Every process is killed. */
async function openScene(silentAt?: number) {
  const box = await startBox(silentAt);
  const store = await sqlite.start();
  const job = { store: store.place, url: box.url, source: PROGRAM };
  return {
    box,
    /** Runs the program in a new process up to its first `await`, or to a later one. */
    begin: (waitAt?: number) => runAndKill({ ...job, waitAt }),
    /** A person approves the call that the program waits for, and a new process continues it. */
    approve: (more: object = {}, until?: Promise<void>) =>
      runAndKill({ ...job, decision: { approve: true }, ...more }, until),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

interface Outcome {
  readonly value: unknown;
  readonly logs: string[];
  readonly calls: object[];
}

const outcomeOf = (line: string | undefined): Outcome => {
  expect(line).toMatch(/^ends /);
  return JSON.parse(line!.slice("ends ".length)) as Outcome;
};

/** One process brings the program to its call `n`, and is killed while the program waits. */
async function untilWaitsAt(scene: Scene, n: number): Promise<void> {
  expect(await scene.begin(n)).toBe(`waits ${n}`);
}

/** Continues the program in one process to its end, with this decision about the call that waits. */
const finish = async (scene: Scene, decision: object = { approve: true }): Promise<Outcome> =>
  outcomeOf(await scene.approve({ decision, waitAt: Number.MAX_SAFE_INTEGER }));

const NUMBERS = [1, 2, 3, 4, 5];

test.concurrent("killed while it waits at each of its five awaits: each call is made once", async () => {
  await using scene = await openScene();
  expect(await scene.begin()).toBe("waits 1");
  for (let next = 2; next <= CALLS; next += 1) expect(await scene.approve()).toBe(`waits ${next}`);
  expect(scene.box.done).toEqual([1, 2, 3, 4]);
  const { value, logs, calls } = await finish(scene);
  expect(value).toEqual(NUMBERS.map((n) => `did ${n}`));
  expect(logs).toEqual(NUMBERS.map((n) => `after ${n}`));
  expect(calls).toMatchObject(NUMBERS.map(() => ({ tool: "box__work", ok: true })));
  expect(scene.box.done).toEqual(NUMBERS);
  // The last process was killed after the end. The next one finds the outcome by the key of the program.
  expect(outcomeOf(await scene.begin())).toMatchObject({ value });
  expect(scene.box.done).toEqual(NUMBERS);
});

test.concurrent.each(NUMBERS)(
  "killed right after the program got the answer to call %i: each call is made once",
  async (n) => {
    await using scene = await openScene();
    await untilWaitsAt(scene, n);
    expect(await scene.approve({ stopAt: `after ${n}` })).toBe("stopped");
    const done = NUMBERS.slice(0, n);
    expect(scene.box.done).toEqual(done);
    // The next process continues the same image: the call has its saved result, and is not made again.
    const { value, logs, calls } = await finish(scene);
    expect(value).toEqual(NUMBERS.map((each) => `did ${each}`));
    expect(logs).toEqual(NUMBERS.map((each) => `after ${each}`));
    expect(calls).toMatchObject(NUMBERS.map(() => ({ tool: "box__work", ok: true })));
    expect(scene.box.done).toEqual(NUMBERS);
  },
);

/** The value of the program if the outcome of call `n` is unknown. */
const unknownAt = (n: number) => NUMBERS.map((each) => (each === n ? "OUTCOME_UNKNOWN" : `did ${each}`));

test.concurrent.each([1, 3, 5])(
  "killed while the server works on call %i: OUTCOME_UNKNOWN, and the call is not made again",
  async (n) => {
    await using scene = await openScene(n);
    await untilWaitsAt(scene, n);
    expect(await scene.approve({}, scene.box.called)).toBeUndefined();
    // The person hears of it first, and decides that the program goes on without the call.
    expect(await scene.approve()).toBe("throws OUTCOME_UNKNOWN");
    const { value, calls } = await finish(scene, { approve: false });
    expect(value).toEqual(unknownAt(n));
    expect(calls[n - 1]).toMatchObject({ ok: false, outcome: "unknown", code: "OUTCOME_UNKNOWN" });
    expect(scene.box.done).toEqual(NUMBERS);
  },
);

test.concurrent.each([1, 5])(
  "killed after the approval of call %i, before the request: made once more only if the person says so",
  async (n) => {
    await using scene = await openScene();
    await untilWaitsAt(scene, n);
    expect(await scene.approve({ stopBefore: n })).toBe("stopped");
    expect(await scene.approve()).toBe("throws OUTCOME_UNKNOWN");
    expect(scene.box.done).toEqual(NUMBERS.slice(0, n - 1));
    const { value } = await finish(scene, { approve: true, again: true });
    expect(value).toEqual(NUMBERS.map((each) => `did ${each}`));
    expect(scene.box.done).toEqual(NUMBERS);
  },
);

test("an image that was changed in the store is not continued", async () => {
  await using box = await startBox();
  await using store = await sqlite.start();
  const source = `return tools.box.work({ n: 1 })`;
  await runAndKill({ store: store.place, url: box.url, source });
  await using toolport = createToolport({ mcpServers: { box: { url: box.url } }, store: store.open() });
  await using code = createCodeMode(toolport);
  const [waiting] = await code.suspended();
  for (const key of await store.open().list("programs/")) await store.damage!(key);
  expect(await failure(code.resume(waiting!.token, { approve: true }))).toMatchObject({
    code: "CORRUPT",
    outcome: "unsent",
  });
  expect(box.done).toEqual([]);
});
