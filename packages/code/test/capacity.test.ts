/** What all programs may use together: threads, memory, places in the queue; and limits of the parsers. */
import { createToolport, type Toolport } from "toolport";
import { type CodeMode, type CodeModeOptions, createCodeMode } from "toolport/code";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { watchThreads } from "../../../test/support/watch-threads.js";
import type { CodeExecutor, ProgramRun } from "../src/code-executor.js";
import { loadExecutor } from "../src/create-code-mode.js";

/** A tool whose calls wait until the test lets them go on. It returns `n`, or a text of `size`. */
class Gate {
  readonly #open: (() => void)[] = [];
  readonly #watchers = new Set<() => void>();
  #isOpen = false;
  received = 0;

  readonly tool: TestTool = {
    handler: async ({ n, size }) => {
      this.received += 1;
      for (const watch of this.#watchers) watch();
      if (!this.#isOpen) await new Promise<void>((resolve) => this.#open.push(resolve));
      return size === undefined ? String(n) : "x".repeat(Number(size));
    },
  };

  /** Resolves when so many calls have come. */
  async reached(count: number): Promise<void> {
    while (this.received < count)
      await new Promise<void>((resolve) => {
        const watch = () => {
          this.#watchers.delete(watch);
          resolve();
        };
        this.#watchers.add(watch);
      });
  }

  openOne(): void {
    this.#open.shift()?.();
  }

  openAll(): void {
    for (const open of this.#open.splice(0)) open();
  }

  /** For later calls, too. */
  stayOpen(): void {
    this.#isOpen = true;
    this.openAll();
  }
}

interface Scene {
  readonly code: CodeMode;
  readonly toolport: Toolport;
  readonly gate: Gate;
  readonly threads: ReturnType<typeof watchThreads>;
}

async function scene(options: CodeModeOptions, use: (scene: Scene) => Promise<void>): Promise<void> {
  const threads = watchThreads();
  const gate = new Gate();
  const add: TestTool = { handler: ({ a, b }) => String(Number(a) + Number(b)) };
  await using server = createTestServer({ tools: { wait: gate.tool, add } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const code = createCodeMode(toolport, options);
  try {
    await use({ code, toolport, gate, threads });
  } finally {
    gate.openAll();
    await code.close();
    threads.stop();
  }
  expect(threads.alive()).toBe(0);
}

/** Has data of its own at the call, which it uses afterwards. */
const waits = (n: number) =>
  `const own = Array.from({ length: 50 }, (_, at) => at + ${n});
   console.log("before", ${n});
   const got = await tools.s.wait({ n: ${n} });
   const sum = await tools.s.add({ a: got, b: own.length });
   return [got, sum, own.at(-1)]`;

describe("threads", () => {
  test("20 programs that wait at the same time share two threads, and go on with their data", () =>
    scene({ capacity: { threads: 2 } }, async ({ code, gate, threads }) => {
      const runs = Array.from({ length: 20 }, (_, n) => code.execute(waits(n)));
      await gate.reached(20);
      expect(threads.started).toBe(2);
      gate.openAll();
      const outcomes = await Promise.all(runs);
      expect(outcomes.map(({ value, error }) => value ?? error?.message)).toEqual(
        outcomes.map((_, n) => [String(n), String(n + 50), n + 49]),
      );
      expect(outcomes.map(({ logs }) => logs)).toEqual(outcomes.map((_, n) => [`before ${n}`]));
      expect(threads.started).toBe(2);
    }));

  test("programs without a thread end at their time limit, on abort, and on close", () =>
    scene({ capacity: { threads: 1 } }, async ({ code, gate }) => {
      const abort = new AbortController();
      const late = code.execute(waits(1), { limits: { timeMs: 2_000 } });
      const aborted = code.execute(waits(2), { signal: abort.signal }).catch(({ message }) => message);
      const closed = code.execute(waits(3)).catch(({ code: reason }) => reason);
      await gate.reached(3);
      abort.abort(new Error("enough"));
      expect(await aborted).toBe("enough");
      expect((await late).error).toMatchObject({ code: "TIME_LIMIT" });
      await code.close();
      expect(await closed).toBe("CLOSED");
    }));

  test("a program that leaves its thread keeps its processor time", () =>
    scene({ capacity: { threads: 1 }, limits: { cpuMs: 400 } }, async ({ code, gate }) => {
      const burn = "for (const end = Date.now() + 250; Date.now() < end; );";
      const run = code.execute(`${burn} await tools.s.wait({ n: 1 }); ${burn} return 1`);
      await gate.reached(1);
      const other = code.execute(waits(2));
      await gate.reached(2);
      gate.openAll();
      expect((await run).error).toMatchObject({ code: "CPU_LIMIT" });
      expect((await other).value).toBeDefined();
    }));

  test("a program that waits for a person can leave its thread first", async () => {
    const gate = new Gate();
    await using server = createTestServer({ tools: { wait: gate.tool, pay: { handler: () => "paid" } } });
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      approve: ({ tool }) => (tool.sourceName === "pay" ? "suspend" : true),
    });
    await using code = createCodeMode(toolport, { capacity: { threads: 1 } });
    const first = code.execute("return [await tools.s.wait({ n: 1 }), await tools.s.pay()]", {
      suspend: true,
    });
    await gate.reached(1);
    const second = code.execute("return [await tools.s.wait({ n: 2 }), await tools.s.pay()]", {
      suspend: true,
    });
    await gate.reached(2);
    gate.openAll();
    for (const [index, outcome] of (await Promise.all([first, second])).entries()) {
      const { token } = outcome as { token: string };
      expect((await code.resume(token, { approve: true })).value).toEqual([String(index + 1), "paid"]);
    }
  });

  test("owners take turns: a program does not wait for all programs of another owner", async () => {
    const executor = await loadExecutor({ capacity: { threads: 1 } });
    const order: string[] = [];
    const run = async (owner: string) => {
      const limits = { calls: 0, cpuMs: 60_000, memoryBytes: 64 << 20, outputBytes: 10, resultBytes: 10 };
      const host = { onCall: () => {}, onLog: () => {}, onWait: () => {} };
      await executor.start({ source: "return 1", tools: {}, limits, owner }, host).ended;
      order.push(owner);
    };
    const many = Array.from({ length: 10 }, () => run("many"));
    await Promise.all([...many, run("one")]);
    await executor.close?.();
    expect(order.indexOf("one")).toBeLessThan(3);
  });
});

describe("memory", () => {
  const holds = (bytes: number, n: number) =>
    `const own = new Uint8Array(${bytes}).map(() => Math.random() * 256);
     const got = await tools.s.wait({ n: ${n} });
     return [got, own.length]`;

  test("programs whose memory does not fit together run one after the other", () =>
    scene(
      { capacity: { threads: 4, memoryBytes: 64 << 20 }, limits: { memoryBytes: 40 << 20 } },
      async ({ code, gate, threads }) => {
        const runs = [1, 2, 3].map((n) => code.execute(waits(n)));
        await gate.reached(3);
        gate.openAll();
        expect((await Promise.all(runs)).map(({ value }) => (value as unknown[])[0])).toEqual([
          "1",
          "2",
          "3",
        ]);
        expect(threads.started).toBe(1);
      },
    ));

  test("a program whose image is too large keeps its thread, and the others wait for it", () =>
    scene(
      { capacity: { threads: 1, memoryBytes: 1 << 20 }, limits: { cpuMs: 60_000 } },
      async ({ code, gate }) => {
        const large = code.execute(holds(1e6, 1));
        await gate.reached(1);
        const small = code.execute("return 2");
        gate.openAll();
        expect((await large).value).toEqual(["1", 1e6]);
        expect((await small).value).toBe(2);
      },
    ));

  const LIMITS = { calls: 9, cpuMs: 60_000, memoryBytes: 64 << 20, outputBytes: 10, resultBytes: 10 };

  /** Starts programs, and resolves when each waits for its call. */
  async function waiting(
    executor: CodeExecutor,
    programs: readonly (readonly [owner: string, source: string])[],
  ) {
    const runs: ProgramRun[] = [];
    for (const [owner, source] of programs)
      await new Promise<void>((resolve) => {
        const host = { onCall: () => {}, onLog: () => {}, onWait: () => resolve() };
        runs.push(executor.start({ source, tools: { s: ["wait"] }, limits: LIMITS, owner }, host));
      });
    return runs;
  }

  const runFor = (executor: CodeExecutor, owner: string) =>
    executor.start(
      { source: "return 2", tools: {}, limits: LIMITS, owner },
      { onCall: () => {}, onLog: () => {}, onWait: () => {} },
    );

  test.each<[string, string, number]>([
    ["has a large image", holds(1e6, 1), 1 << 20],
    // Its image is small, but to make it takes several times the memory.
    ["takes much memory", "const own = new Uint8Array(20e6); await tools.s.wait(); return own", 64 << 20],
  ])(
    "a program that %s ends if the only thread is wanted by another owner",
    async (_, source, memoryBytes) => {
      const executor = await loadExecutor({ capacity: { threads: 1, memoryBytes } });
      const [large] = await waiting(executor, [["a", source]]);
      const small = runFor(executor, "b");
      expect(await large!.ended).toMatchObject({ error: { code: "MEMORY_LIMIT" } });
      expect(await small.ended).toMatchObject({ value: "2" });
      await executor.close?.();
    },
  );

  test("of programs that cannot leave, one of the owner that has most threads ends", async () => {
    const executor = await loadExecutor({ capacity: { threads: 3, memoryBytes: 192 << 20 } });
    const source = "const own = new Uint8Array(20e6); await tools.s.wait(); return 1";
    const [first, ...many] = await waiting(executor, [
      ["one", source],
      ["many", source],
      ["many", source],
    ]);
    const ended = Promise.race(many.map((run) => run.ended));
    expect(await runFor(executor, "b").ended).toMatchObject({ value: "2" });
    expect(await ended).toMatchObject({ error: { code: "MEMORY_LIMIT" } });
    first!.answer(1, { value: "1" });
    expect(await first!.ended).toMatchObject({ value: "1" });
    await executor.close?.();
  });
});

describe("answers that wait for a program", () => {
  const many = (calls: number, size: number) =>
    `const got = await Promise.all(Array.from({ length: ${calls} }, () => tools.s.wait({ size: ${size} })));
     return got.map(({ length }) => length)`;

  /** Keeps the only thread, from which programs that wait must leave. Returns a function that ends this. */
  async function takeThread(code: CodeMode): Promise<() => void> {
    const abort = new AbortController();
    await new Promise<void>((resolve) => {
      const options = { signal: abort.signal, onProgress: () => resolve(), limits: { cpuMs: 60_000 } };
      code.execute("console.log('computes'); for (;;);", options).catch(() => {});
    });
    return () => abort.abort();
  }

  test("results are not fetched before the program can take them", () =>
    scene({ capacity: { threads: 1 }, limits: { parallel: 4 } }, async ({ code, toolport, gate }) => {
      const run = code.execute(many(40, 1_000));
      await gate.reached(4);
      const leaveThread = await takeThread(code);
      gate.stayOpen();
      // More than the program would need for its other calls.
      for (let n = 0; n < 40; n++) await toolport.callTool("s__add", { a: 1, b: n });
      expect(gate.received).toBe(4);
      leaveThread();
      expect((await run).value).toEqual(new Array(40).fill(1_000));
    }));

  test("the program with most ends if they take more than half the memory of programs", () =>
    scene({ capacity: { threads: 1, memoryBytes: 32 << 20 } }, async ({ code, toolport, gate }) => {
      // Of two bytes for each character: 24 MB and 4 MB.
      const large = code.execute(many(12, 1_000_000));
      const small = code.execute(many(2, 1_000_000));
      await gate.reached(14);
      const leaveThread = await takeThread(code);
      gate.stayOpen();
      for (let n = 0; n < 40; n++) await toolport.callTool("s__add", { a: 1, b: n });
      leaveThread();
      const { error } = await large;
      expect(error).toMatchObject({ code: "MEMORY_LIMIT" });
      expect(error!.message).toContain("too much data together");
      expect((await small).value).toEqual([1_000_000, 1_000_000]);
    }));
});

test("more programs than may wait end with OVERLOADED, and the model reads what to do", () =>
  scene({ capacity: { threads: 1, waiting: 2 } }, async ({ code }) => {
    const outcomes = await Promise.all([1, 2, 3, 4, 5].map((n) => code.execute(`return ${n}`)));
    expect(outcomes.map(({ value, error }) => value ?? error?.code)).toEqual([
      1,
      2,
      3,
      "OVERLOADED",
      "OVERLOADED",
    ]);
    expect(outcomes[4]!.error!.message).toContain("Run the program again later.");
  }));

test("a wrong capacity is a ConfigError that names the option", async () => {
  await using toolport = createToolport({ mcpServers: {} });
  const open = (capacity: object) => () => createCodeMode(toolport, { capacity });
  expect(open({ threads: 0 })).toThrow(/capacity\.threads.*greater than 0/);
  expect(open({ thread: 2 })).toThrow(/capacity\.thread.*did you mean threads/);
});

describe("parsers", () => {
  test("a text that keeps the TypeScript parser busy ends at the processor time of the program", () =>
    scene({ limits: { cpuMs: 200 } }, async ({ code, threads }) => {
      const out = await code.execute("async<T>(".repeat(30));
      expect(out.error).toMatchObject({ code: "CPU_LIMIT" });
      expect((await code.execute("const x: number = 2; return x")).value).toBe(2);
      // The thread of a parser that was stopped is used again.
      expect(threads.started).toBe(1);
    }));

  const nested: [string, string][] = [
    ["brackets", "[".repeat(200_000)],
    ["closed brackets", `return ${"[".repeat(50_000)}${"]".repeat(50_000)}`],
    ["templates", "`${".repeat(80_000)],
    ["operators", `return ${"!".repeat(200_000)}1`],
    ["types", `let x: ${"[".repeat(50_000)}${"]".repeat(50_000)}`],
  ];
  test.each(nested)("deep nesting is a syntax error: %s", (_, source) =>
    scene({}, async ({ code, threads }) => {
      const { error } = await code.execute(source);
      expect(error).toMatchObject({ code: "SYNTAX" });
      expect(error!.message).toContain("nested too deeply");
      expect((await code.execute("return 1")).value).toBe(1);
      expect(threads.started).toBe(1);
    }),
  );

  test("a text that no model writes is not parsed", () =>
    scene({}, async ({ code }) => {
      const { error } = await code.execute("//\n".repeat(100_000));
      expect(error).toMatchObject({ code: "SYNTAX" });
      expect(error!.message).toContain("300000 characters; the limit is 262144");
    }));
});

describe("calls that are refused in the thread", () => {
  test("a program that makes 20,000 calls sends the host those that it may make", () =>
    scene({ limits: { calls: 3, cpuMs: 60_000 } }, async ({ code, gate }) => {
      const run = code.execute(
        `const calls = Array.from({ length: 20000 }, (_, n) => tools.s.wait({ n }).catch((error) => error.code));
         const codes = (await Promise.all(calls)).slice(3);
         return [codes.length, new Set(codes).size, codes[0]]`,
      );
      await gate.reached(3);
      gate.openAll();
      const out = await run;
      expect(out.value).toEqual([19_997, 1, "CALL_LIMIT"]);
      expect(out.calls).toHaveLength(3);
    }));

  test("arguments with too many objects or levels, alone or together", () =>
    scene({ limits: { cpuMs: 60_000 } }, async ({ code, gate }) => {
      const run = code.execute(
        `const code = ({ code }) => code;
         const objects = (count) => ({ n: Array.from({ length: count }, () => []), size: 1 });
         let levels = [];
         for (let level = 0; level < 1000; level++) levels = [levels];
         const alone = [objects(200_000), { n: levels }].map((args) => tools.s.wait(args).catch(code));
         const calls = [1, 2, 3].map(() => tools.s.wait(objects(40_000)).catch(code));
         return [...(await Promise.all(alone)), ...(await Promise.all(calls))]`,
      );
      await gate.reached(2);
      gate.openAll();
      const refused = "INVALID_ARGUMENTS";
      expect((await run).value).toEqual([refused, refused, "x", "x", refused]);
      expect(gate.received).toBe(2);
    }));

  test("arguments that are too large, alone or together", () =>
    scene({ limits: { cpuMs: 60_000 } }, async ({ code, gate }) => {
      const run = code.execute(
        `const code = ({ code }) => code;
         const alone = await tools.s.wait({ n: "x".repeat(2e6) }).catch(code);
         const calls = [1, 2, 3, 4, 5].map(() => tools.s.wait({ n: "x".repeat(1e6) }).catch(code));
         return [alone, ...(await Promise.all(calls)).map((text) => text.length > 100 ? text.length : text)]`,
        { limits: { resultBytes: 1_000 } },
      );
      await gate.reached(4);
      gate.openAll();
      expect((await run).value).toEqual(["INVALID_ARGUMENTS", 1e6, 1e6, 1e6, 1e6, "INVALID_ARGUMENTS"]);
    }));
});
