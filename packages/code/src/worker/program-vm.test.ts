/** The VM of a program: values, positions of errors, limits, and images. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { beforeAll, describe, expect, test } from "vitest";
import type { CodeProgram, ProgramCall, ProgramEnd } from "../code-executor.js";
import { ProgramVm, prepareVm, type ReadyVm } from "./program-vm.js";
import { type CompiledWasm, ThreadState } from "./thread-link.js";

const LIMITS = { calls: 100, cpuMs: 5_000, memoryBytes: 64 << 20, outputBytes: 1_000, resultBytes: 1_000 };
const TOOLS = { calc: ["add", "list"], files: ["read"] };

let wasm: CompiledWasm;
beforeAll(async () => {
  const path = createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm");
  const { WebAssembly } = globalThis as unknown as {
    WebAssembly: { compile(bytes: Uint8Array): Promise<CompiledWasm> };
  };
  wasm = await WebAssembly.compile(readFileSync(path));
});

interface Opened {
  readonly vm: ProgramVm;
  readonly calls: ProgramCall[];
  readonly logs: string[];
  readonly waits: (readonly number[])[];
  readonly ends: readonly ProgramEnd[];
  end(): ProgramEnd | undefined;
}

async function open(
  source: string,
  more: Partial<CodeProgram> = {},
  { ready, thread }: { ready?: ReadyVm; thread?: ThreadState } = {},
): Promise<Opened> {
  const [calls, logs, waits]: [ProgramCall[], string[], (readonly number[])[]] = [[], [], []];
  const ends: ProgramEnd[] = [];
  const vm = await ProgramVm.start(
    { wasm, ready, thread },
    { source, tools: TOOLS, limits: LIMITS, ...more },
    {
      onOpened: () => {},
      onRunning: () => {},
      onCall: (call) => calls.push(call),
      onLog: (line) => logs.push(line),
      onCut: () => {},
      onWait: (pending) => waits.push(pending),
      onEnd: (end) => ends.push(end),
    },
  );
  return { vm, calls, logs, waits, ends, end: () => ends.at(-1) };
}

const resultOf = (end: ProgramEnd | undefined) => (end && "value" in end ? end.value : end);
const errorOf = (end: ProgramEnd | undefined) => (end && "error" in end ? end.error : end);

test("a value is JSON, and no value is undefined", async () => {
  expect(resultOf((await open("return { a: [1, 'x', null] }")).end())).toBe('{"a":[1,"x",null]}');
  expect((await open("1 + 1")).end()).toMatchObject({ value: undefined });
});

describe("positions are those of the program", () => {
  test.each([
    ["const a = 1;\nconst b = ;", { code: "SYNTAX", name: "SyntaxError", line: 2, column: 11 }],
    ["if (true) {", { code: "SYNTAX", line: 1 }],
    ["// the end\n  x.y.z", { code: "THROWN", name: "ReferenceError", line: 2, column: 3 }],
    [
      "const f = () => {\n  throw new TypeError('no');\n};\nawait null;\nf();",
      { line: 2, name: "TypeError" },
    ],
    ["const a: number = 1;\nconst b: { c: string } = { c: 'd' };   b.e.f();", { line: 2, column: 40 }],
    ["const a: number = ;", { code: "SYNTAX", line: 1, column: 19 }],
    ["tools.nowhere.read()", { line: 1, thrownCode: "TOOL_NOT_FOUND", missing: { server: "nowhere" } }],
    ["\ntools.calc.ad()", { line: 2, column: 1, missing: { server: "calc", tool: "ad" } }],
    ["throw 5", { code: "THROWN", name: "Error", message: "5" }],
    ["throw null", { message: "null" }],
  ])("%j", async (source, expected) => {
    expect(errorOf((await open(source)).end())).toMatchObject(expected);
  });
});

test.each([
  "return 1; } globalThis.evil = 1; async function x() {",
  "}, async x() {",
  "} + function () {",
  "} [y] = function () {",
  "} x = function () {",
  "} } evil(); ({ async x() {",
  "}); evil(); (async function () {",
])("text that ends the function early does not run: %s", async (source) => {
  expect(errorOf((await open(source)).end())).toMatchObject({ code: "SYNTAX" });
});

test("types, enums and generics are removed; imports are not", async () => {
  const source = "enum Size { Big = 3 }\nconst f = <T,>(x: T): T => x as T;\nreturn f<number>(Size.Big)!;";
  expect(resultOf((await open(source)).end())).toBe("3");
  expect(errorOf((await open("import x from 'y';\nreturn 1")).end())).toMatchObject({
    code: "SYNTAX",
    line: 1,
  });
});

test("a call waits for its answer, and carries its line", async () => {
  const { vm, calls, waits, end } = await open("const a = 1;\nreturn await tools.calc.add({ a, b: [2] });");
  expect(calls).toEqual([{ id: 1, server: "calc", tool: "add", args: '{"a":1,"b":[2]}', line: 2 }]);
  expect(waits).toEqual([[1]]);
  await vm.answer(1, { value: '{"sum":3,"__proto__":{"x":1}}' });
  expect(resultOf(end())).toBe('{"sum":3,"__proto__":{"x":1}}');
});

test("an error of a call has its code, and the line of the call", async () => {
  const { vm, end } = await open("await null;\n  await tools.calc.add();");
  await vm.answer(1, { error: { name: "ToolError", code: "REFUSED", message: "not now" } });
  expect(errorOf(end())).toMatchObject({
    name: "ToolError",
    thrownCode: "REFUSED",
    message: "not now",
    line: 2,
  });
});

test("console has five levels and shows values; output is cut with a note", async () => {
  const source = `
    for (const level of ["log", "info", "warn", "error", "debug"]) console[level](level, { a: 1 }, [undefined]);
    console.log(new TypeError("no"), undefined, null, 1n, Symbol("s"), () => 1);
    console.log("ä".repeat(600));
    console.log("never seen");`;
  const { logs } = await open(source);
  expect(logs.slice(0, 5)).toEqual(
    ["log", "info", "warn", "error", "debug"].map((level) => `${level} {"a":1} [null]`),
  );
  expect(logs[5]).toBe("TypeError: no undefined null 1 Symbol(s) () => 1");
  expect(logs[6]).toMatch(/^ä+$/);
  const missing = 600 - logs[6]!.length + "never seen".length;
  expect(logs.slice(7)).toEqual([`[${missing} more characters of output were left out]`]);
  expect(Buffer.byteLength(logs.slice(0, 7).join("\n"))).toBeLessThanOrEqual(LIMITS.outputBytes);
});

test.each([
  ["return 'x'.repeat(2000)", "RESULT_TOO_LARGE"],
  ["return 'ä'.repeat(600)", "RESULT_TOO_LARGE"],
  ["await new Promise(() => {})", "STUCK"],
  ["const all = []; for (;;) all.push(new Uint8Array(1e6))", "MEMORY_LIMIT"],
])("%s: %s", async (source, code) => {
  expect(errorOf((await open(source)).end())).toMatchObject({ code });
});

test("a loop without end is interrupted, and the time is reported", async () => {
  const limits = { ...LIMITS, cpuMs: 50 };
  for (const source of [
    "for (;;) {}",
    "for (;;) await null",
    "try { for (;;) {} } finally { for (;;) {} }",
    // A promise catches the error of an interrupt.
    "const again = () => new Promise(() => { for (;;); }).catch(again); await again()",
    "const again = () => Promise.resolve({ get then() { for (;;); } }).catch(again); await again()",
  ]) {
    const end = (await open(source, { limits })).end();
    expect(errorOf(end), source).toMatchObject({ code: "CPU_LIMIT" });
    expect(end?.cpuMs).toBeGreaterThan(50);
  }
});

describe("the host stops a program by the state of the thread", () => {
  /** Stops the program when it calls the host so often. */
  class StoppingThread extends ThreadState {
    constructor(private wakesLeft: number) {
      super();
    }
    override wake(): void {
      super.wake();
      this.wakesLeft -= 1;
      if (this.wakesLeft === 0) this.isStopRequested = true;
    }
  }

  test("before it runs", async () => {
    const { end, logs } = await open("console.log('runs')", {}, { thread: new StoppingThread(1) });
    expect(errorOf(end())).toMatchObject({ code: "STOPPED" });
    expect(logs).toEqual([]);
  });

  test("while it computes", async () => {
    const { end } = await open("for (;;) {}", {}, { thread: new StoppingThread(5) });
    expect(errorOf(end())).toMatchObject({ code: "STOPPED" });
  });

  test("while it waits", async () => {
    const { vm, end } = await open("await tools.calc.add({})");
    expect(end()).toBeUndefined();
    vm.stop();
    expect(errorOf(end())).toMatchObject({ code: "STOPPED" });
    await vm.answer(1, { value: "1" });
    expect(errorOf(end())).toMatchObject({ code: "STOPPED" });
  });

  test("a program that cannot be interrupted is parked at its next call of the host", async () => {
    let parked = 0;
    class ParkingThread extends ThreadState {
      // A real one would block this test.
      override park(): void {
        parked += 1;
      }
    }
    const source = `
      const half = "a".repeat(1e3);
      const whole = half + half;
      for (let n = 0; n < 100; n++) { whole.indexOf(half + "b"); console.log(n); }`;
    await open(source, { limits: { ...LIMITS, cpuMs: 1 } }, { thread: new ParkingThread() });
    expect(parked).toBeGreaterThan(0);
  });

  test("JavaScript of the thread runs before and after the program, and while the program calls the host", async () => {
    const marks: (number | undefined)[] = [];
    class WatchedThread extends ThreadState {
      override rest(): void {
        marks.push(this.restMark);
        super.rest();
      }
    }
    const thread = new WatchedThread();
    thread.wake();
    await open("console.log(1)", {}, { thread });
    expect(marks.length).toBeGreaterThan(2);
    expect(new Set(marks)).toEqual(new Set([undefined]));
    expect(thread.restMark).toBeUndefined();
    thread.rest();
    expect(thread.restMark).toBeTypeOf("number");
  });
});

test("an image continues in another VM: values, functions, the count of calls, and the output that is left", async () => {
  const source = `
    const taken = Date.now() + Math.random();
    const rows = Array.from({ length: 100 }, (_, id) => ({ id }));
    console.log("x".repeat(700));
    const first = await tools.calc.add({ n: 1 });
    const second: number = await tools.calc.add({ n: 2, first });
    console.log("y".repeat(700));
    return [taken === taken, rows.length, first, second];`;
  const before = await open(source);
  await before.vm.answer(1, { value: "10" });
  expect(before.waits).toEqual([[1], [2]]);
  const image = before.vm.snapshot();
  const after = await open(source, { image, usedCpuMs: 7 });
  expect(after.waits).toEqual([[2]]);
  expect(after.calls).toEqual([]);
  await after.vm.answer(1, { value: "wrong" });
  expect(after.end()).toBeUndefined();
  await after.vm.answer(2, { value: "20" });
  expect(after.end()).toMatchObject({ value: "[true,100,10,20]" });
  expect(after.end()?.cpuMs).toBeGreaterThan(7);
  expect(after.logs[0]).toHaveLength(299);
  expect(after.logs[1]).toBe("[401 more characters of output were left out]");
});

test("an error after an image has the column of the TypeScript source", async () => {
  const source = "const a: number = await tools.calc.add();\nconst b: string = 'c';   (b as any).d.e();";
  const image = (await open(source)).vm.snapshot();
  const after = await open(source, { image });
  await after.vm.answer(1, { value: "1" });
  expect(errorOf(after.end())).toMatchObject({ name: "TypeError", line: 2 });
  expect(errorOf(after.end())).toMatchObject({ column: expect.toSatisfy((column: number) => column > 25) });
});

test("answers that arrive while an error is described do not end the program again", async () => {
  const source =
    "const a: unknown = tools.calc.add(); const b: unknown = tools.calc.add(); await a; throw new Error('mine')";
  const image = (await open(source)).vm.snapshot();
  const { vm, ends } = await open(source, { image });
  const answered = [1, 2].map((id) => vm.answer(id, { value: "1" }));
  vm.stop();
  await Promise.all(answered);
  expect(ends.map(errorOf)).toMatchObject([{ code: "THROWN", message: "mine" }]);
});

describe("a VM that was made ready before its program came", () => {
  const WORLD = `
    const names = (object) => Reflect.ownKeys(object).map(String).sort();
    return [names(globalThis), names(Object.prototype), names(Array.prototype), Object.keys(globalThis)];
  `;
  const limits = { ...LIMITS, resultBytes: 100_000 };

  test("is used, and looks like a new one", async () => {
    const ready = await prepareVm(wasm, limits.memoryBytes);
    const used = await open(WORLD, { limits }, { ready });
    expect(resultOf(used.end())).toBe(resultOf((await open(WORLD, { limits })).end()));
    expect(ready.hooks.isDue()).toBe(false);
    // A second program in it would see the first one.
    expect(ready.vm.evalCode("typeof tools").toString()).toBe("object");
  });

  test("is not used for a program with another limit on memory", async () => {
    const ready = await prepareVm(wasm, limits.memoryBytes);
    const small = { ...limits, memoryBytes: 4 << 20 };
    const { end } = await open("return new Uint8Array(8 << 20).length", { limits: small }, { ready });
    expect(errorOf(end())).toMatchObject({ code: "MEMORY_LIMIT" });
    expect(ready.vm.evalCode("typeof tools").toString()).toBe("undefined");
  });

  test("is interrupted at the limit of the program", async () => {
    const ready = await prepareVm(wasm, limits.memoryBytes);
    const { end } = await open("for (;;) {}", { limits: { ...limits, cpuMs: 50 } }, { ready });
    expect(errorOf(end())).toMatchObject({ code: "CPU_LIMIT" });
  });
});
