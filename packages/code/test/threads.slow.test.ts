/** The threads of programs: which are used again after a limit, and which are ended. */
import { createToolport } from "toolport";
import { type CodeMode, createCodeMode } from "toolport/code";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { type ThreadWatch, watchThreads } from "../../../test/support/watch-threads.js";

/** Native functions of the engine cannot be interrupted. */
const NATIVE = "const half = 'a'.repeat(4e6); return (half + half).indexOf(half + 'b')";

interface Scene {
  readonly code: CodeMode;
  readonly threads: ThreadWatch;
  /** Resolves when a program calls `tools.s.wait()`, which never answers. */
  called(): Promise<void>;
}

async function scene(use: (scene: Scene) => Promise<void>): Promise<void> {
  const threads = watchThreads();
  let onCall = (): void => {};
  const wait: TestTool = {
    handler() {
      onCall();
      return new Promise<never>(() => {});
    },
  };
  await using server = createTestServer({ tools: { wait, one: { handler: () => "1" } } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const code = createCodeMode(toolport, { limits: { cpuMs: 1_000 } });
  const called = () =>
    new Promise<void>((resolve) => {
      onCall = resolve;
    });
  try {
    await use({ code, threads, called });
  } finally {
    await code.close();
    threads.stop();
  }
  expect(threads.alive()).toBe(0);
}

test("a program that ends itself, or is ended at a limit, leaves its thread to the next one", () =>
  scene(async ({ code, threads, called }) => {
    const errorOf = async (source: string, limits = {}) =>
      (await code.execute(source, { limits })).error?.code;
    expect((await code.execute("globalThis.left = 1; return await tools.s.one()")).value).toBe("1");
    expect(await errorOf("throw new Error('mine')")).toBe("THROWN");
    expect(await errorOf("const x: number = ;")).toBe("SYNTAX");
    expect(await errorOf("for (;;) {}")).toBe("CPU_LIMIT");
    expect(await errorOf("for (;;) await null")).toBe("CPU_LIMIT");
    expect(await errorOf("for (let n = 0; ; n++) console.log(n)")).toBe("CPU_LIMIT");
    const fill = "const all = []; for (;;) all.push(new Uint8Array(1e6))";
    expect(await errorOf(fill, { cpuMs: 60_000 })).toBe("MEMORY_LIMIT");
    expect(await errorOf("await tools.s.wait()", { timeMs: 50 })).toBe("TIME_LIMIT");
    expect(await errorOf("for (;;) {}", { timeMs: 50, cpuMs: 60_000 })).toBe("TIME_LIMIT");
    const abort = new AbortController();
    const waits = called();
    const aborted = failure(code.execute("await tools.s.wait()", { signal: abort.signal }));
    await waits;
    abort.abort(new Error("enough"));
    expect((await aborted).message).toBe("enough");
    expect((await code.execute("return typeof left")).value).toBe("undefined");
    expect(threads.started).toBe(1);
  }));

test("an abort ends a program that computes, and its thread runs the next one", () =>
  scene(async ({ code, threads, called }) => {
    const abort = new AbortController();
    const waits = called();
    const running = failure(
      code.execute("tools.s.wait(); for (;;) {}", { signal: abort.signal, limits: { cpuMs: 60_000 } }),
    );
    await waits;
    abort.abort(new Error("enough"));
    expect((await running).message).toBe("enough");
    expect((await code.execute("return 2")).value).toBe(2);
    expect(threads.started).toBe(1);
  }));

test("a thread in a native function of the engine is ended, and another one replaces it", () =>
  scene(async ({ code, threads }) => {
    expect((await code.execute(NATIVE)).error?.code).toBe("CPU_LIMIT");
    expect(threads.started).toBe(2);
    expect((await code.execute("return 3")).value).toBe(3);
    expect(threads.started).toBe(2);
  }));

test("a program that was suspended leaves its thread to the next one", () =>
  scene(async ({ threads }) => {
    await using server = createTestServer({ tools: { one: { handler: () => "1" } } });
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      approve: () => "suspend",
    });
    await using code = createCodeMode(toolport);
    const out = await code.execute("return [await tools.s.one(), await tools.s.one()]", { suspend: true });
    const { token } = out as { token: string };
    const again = await code.resume(token, { approve: true });
    const last = await code.resume((again as { token: string }).token, { approve: true });
    expect(last.value).toEqual(["1", "1"]);
    expect(threads.started).toBe(1);
  }));

test("programs at the same time have a thread each", () =>
  scene(async ({ code, threads, called }) => {
    const abort = new AbortController();
    const waits = called();
    const waiting = failure(code.execute("await tools.s.wait()", { signal: abort.signal }));
    await waits;
    expect((await code.execute("return 4")).value).toBe(4);
    abort.abort(new Error("enough"));
    expect((await waiting).message).toBe("enough");
    expect(threads.started).toBe(2);
  }));

test("a result that the program cannot hold is an error in the program, and the thread goes on", async () => {
  const threads = watchThreads();
  await using server = createTestServer({ tools: { large: { handler: () => "x".repeat(9e6) } } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await using code = createCodeMode(toolport, { limits: { memoryBytes: 4 << 20 } });
  const out = await code.execute("try { await tools.s.large() } catch (error) { return error.code }");
  expect(out.value).toBe("MEMORY_LIMIT");
  expect((await code.execute("return 5")).value).toBe(5);
  expect(threads.started).toBe(1);
  threads.stop();
});
