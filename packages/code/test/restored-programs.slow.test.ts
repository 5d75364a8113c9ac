/** Programs that are continued from an image in a thread: their limits hold, and their ends are their own. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CodeExecutor, CodeProgram, ProgramRun } from "../src/code-executor.js";
import { createExecutor } from "../src/worker-executor.js";

const limits = { calls: 100, cpuMs: 300, memoryBytes: 64 << 20, outputBytes: 1_000, resultBytes: 1_000 };
const tools = { s: ["one", "two"] };
const ignored = { onCall() {}, onLog() {}, onWait() {} };

let executor: CodeExecutor;
beforeEach(async () => {
  executor = await createExecutor({ idleTimeoutMs: 10_000 });
});
afterEach(() => executor.close?.());

const start = (program: Partial<CodeProgram> & { source: string }): ProgramRun =>
  executor.start({ tools, limits, ...program }, ignored);

/** The image of a program at its first wait, made in a thread of another executor. */
async function imageOf(source: string): Promise<Uint8Array> {
  const other = await createExecutor({ idleTimeoutMs: 0 });
  try {
    const run = await new Promise<ProgramRun>((resolve) => {
      const started = other.start({ source, tools, limits }, { ...ignored, onWait: () => resolve(started) });
    });
    return (await run.snapshot!()).image;
  } finally {
    await other.close?.();
  }
}

test("the limit on computing holds after an answer that came before the program was restored", async () => {
  // Native functions of the engine cannot be interrupted, so the host has to watch.
  const source =
    "await tools.s.one(); const half = 'a'.repeat(4e6); return (half + half).indexOf(half + 'b')";
  const run = start({ source, image: await imageOf(source) });
  run.answer(1, { value: "1" });
  expect(await run.ended).toMatchObject({ error: { code: "CPU_LIMIT" } });
});

test("an answer that comes while a program fails does not end the next program of the thread", async () => {
  const source =
    "const a: unknown = tools.s.one(); const b: unknown = tools.s.two(); await a; throw new Error('mine')";
  const run = start({ source, image: await imageOf(source) });
  run.answer(1, { value: "1" });
  run.answer(2, { value: "2" });
  expect(await run.ended).toMatchObject({ error: { code: "THROWN", message: "mine" } });
  const next = start({ source: "for (let n = 0; n < 1e5; n++); return 'next'" });
  expect(await next.ended).toMatchObject({ value: '"next"' });
});
