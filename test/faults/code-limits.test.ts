/** Programs that use too much: processor time, memory, stack, output, calls, time. */
import { expect } from "vitest";
import { ALONE, openCode } from "./code-setup.js";
import { faultCase } from "./fault-case.js";

const hang = () => ({ handler: () => new Promise<never>(() => {}) });

faultCase("E07", "ended at the limit, beside a healthy server", async (harness) => {
  harness.open({});
  const { run } = openCode(harness);
  for (const source of [
    "for (;;) {}",
    "for (;;) await null",
    "const flood = () => { Promise.resolve().then(flood); Promise.resolve().then(flood) }; flood(); await new Promise(() => {})",
    "try { for (;;) {} } catch {} finally { for (;;) {} }",
    "function* endless() { for (;;) yield 1 } for (const _ of endless());",
  ]) {
    const out = await run(source);
    expect(out.error?.code, source).toMatch(/^(CPU|MEMORY)_LIMIT$/);
  }
});

faultCase(
  "E08",
  "stopped by the interrupt",
  async (harness) => {
    const { run } = openCode(harness);
    for (const source of [
      'return /^(a+)+$/.test("a".repeat(40) + "b")',
      'return "a".repeat(30000).match(/(.*)*x/)',
      "return Array.from({ length: 1e6 }, () => 0).sort(() => (Math.random() < 0.5 ? -1 : 1)).length",
      "const list = [3, 2, 1]; for (;;) list.sort(() => 1)",
    ])
      expect((await run(source)).error?.code, source).toBe("CPU_LIMIT");
  },
  ALONE,
);

faultCase("E09", "ended by the watchdog, and the host goes on", async (harness) => {
  harness.open({});
  const { run } = openCode(harness);
  for (const source of [
    'const half = "a".repeat(4e6); return (half + half).indexOf(half + "b")',
    'let text = "a".repeat(2e5); for (;;) text.replaceAll("a", "$&$&".slice(0, 2))',
    'return new Array(1e9) + ""',
    "return new Array(1e9).indexOf(1)",
  ])
    expect((await run(source)).error?.code, source).toMatch(/^(CPU|MEMORY)_LIMIT$/);
  expect((await run("return 1")).value).toBe(1);
});

faultCase(
  "E10",
  "out of memory in the guest only",
  async (harness) => {
    const { run } = openCode(harness, { limits: { cpuMs: 5_000, memoryBytes: 32 << 20 } });
    const before = process.memoryUsage().rss;
    for (const source of [
      "const all = []; for (;;) all.push(new Uint8Array(1e6))",
      "const all = []; for (;;) all.push('x'.repeat(1e6) + all.length)",
      "return 'x'.repeat(2 ** 29)",
      "return new Uint8Array(2 ** 31 - 1).length",
      "const all = []; for (;;) all.push({ a: [all.length] })",
      "return new ArrayBuffer(1e9).byteLength",
    ]) {
      const { error } = await run(source);
      expect(error?.code, source).toMatch(/^(MEMORY_LIMIT|THROWN)$/);
      expect(error?.message, source).toMatch(/memory|too long|length|invalid/i);
    }
    const caught = await run(
      "try { const all = []; for (;;) all.push(new Uint8Array(1e6)) } catch (error) { return error.message }",
    );
    expect(caught.value).toBe("out of memory");
    // Six programs of up to 32 MiB each: one that leaked would show.
    expect(process.memoryUsage().rss - before).toBeLessThan(160 * 1024 * 1024);
  },
  ALONE,
);

faultCase(
  "E11",
  "a RangeError or the limit, never a crash",
  async (harness) => {
    const { run } = openCode(harness);
    for (const source of [
      "const deep = (n) => deep(n + 1) + 1; return deep(0)",
      "const deep = () => { try { deep() } catch { deep() } }; deep(); for (;;) deep()",
      'return JSON.parse("[".repeat(1e5))',
      "let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; return deep",
      'let text = "x"; for (let i = 0; i < 1e5; i++) text = "(" + text + ")"; return eval(text)',
      "const self = new Proxy({}, { get: (_, key, proxy) => proxy[key] }); return self.x",
    ]) {
      const { error } = await run(source);
      expect(error?.code, source).toMatch(/^(THROWN|CPU_LIMIT|MEMORY_LIMIT)$/);
      if (error?.code === "THROWN")
        expect(error.message, source).toMatch(/^(RangeError|InternalError|SyntaxError)/);
    }
    expect((await run("return 1")).value).toBe(1);
  },
  ALONE,
);

faultCase(
  "E12",
  "output is cut and counted, a large result is refused with its size",
  async (harness) => {
    const { run } = openCode(harness, { limits: { cpuMs: 1_000 } });
    const flood = await run(
      "for (let i = 0; i < 1e6; i++) console.log('line', i, 'x'.repeat(50)); for (;;) {}",
    );
    expect(flood.error).toMatchObject({ code: "CPU_LIMIT" });
    expect(Buffer.byteLength(flood.logs.slice(0, -1).join("\n"))).toBeLessThanOrEqual(64_000);
    expect(flood.logs.at(-1)).toMatch(/^\[\d+ more characters of output were left out\]$/);
    const large = await run("return 'x'.repeat(5e6)", { limits: { cpuMs: 10_000 } });
    expect(large.error).toMatchObject({ code: "RESULT_TOO_LARGE" });
    expect(large.error?.message).toContain("5000002 bytes");
    expect(large.error?.message).toContain("Return less");
    const one = await run("console.log('x'.repeat(10e6)); return 1", { limits: { cpuMs: 10_000 } });
    expect(one.value).toBe(1);
    expect(one.logs[0]).toHaveLength(64_000);
  },
  ALONE,
);

faultCase(
  "E13",
  "an error in the program; what ran is listed",
  async (harness) => {
    const { run, received } = openCode(harness, { limits: { cpuMs: 5_000 } });
    const out = await run("for (let n = 1; ; n++) await tools.s.echo({ n })");
    expect(out.error).toMatchObject({ code: "CALL_LIMIT", line: 1 });
    expect(out.calls).toHaveLength(100);
    expect(received).toHaveLength(100);
    const caught = await run(
      "let done = 0; for (let n = 0; n < 150; n++) await tools.s.echo({}).then(() => done++, (e) => e.code); return done",
    );
    expect(caught.value).toBe(100);
  },
  ALONE,
);

faultCase(
  "E14",
  "TIME_LIMIT with the call cancelled at its server; STUCK at once",
  async (harness) => {
    let cancelled = (): void => {};
    const isCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const { run } = openCode(harness, {
      tools: {
        hang: {
          handler: (_args, { signal }) => {
            signal.addEventListener("abort", cancelled);
            return new Promise(() => {});
          },
        },
      },
      limits: { timeMs: 3_000 },
    });
    const late = await run("await tools.s.echo({}); await tools.s.hang()");
    expect(late.error).toMatchObject({ code: "TIME_LIMIT" });
    expect(late.calls).toMatchObject([{ ok: true }, { ok: false, outcome: "unknown" }]);
    await isCancelled;
    for (const source of ["await new Promise(() => {})", "await { then() {} }", "await Promise.race([])"])
      expect((await run(source)).error?.code, source).toBe("STUCK");
  },
  ALONE,
);

faultCase(
  "E15",
  "cancelled and named",
  async (harness) => {
    const { run } = openCode(harness, { tools: { hang: hang() }, limits: { parallel: 2 } });
    const out = await run("for (let n = 0; n < 4; n++) tools.s.hang(); return 'done'");
    expect(out.value).toBe("done");
    expect(out.calls.map(({ code, outcome }) => [code, outcome])).toEqual([
      ["UNFINISHED", "unknown"],
      ["UNFINISHED", "unknown"],
      ["UNFINISHED", "unsent"],
      ["UNFINISHED", "unsent"],
    ]);
    expect(out.logs).toEqual(["[4 calls were not finished and cancelled: s__hang]"]);
    const thrown = await run("tools.s.hang(); throw new Error('mine')");
    expect(thrown.error?.message).toContain("s__hang may have run (UNFINISHED)");
  },
  ALONE,
);
