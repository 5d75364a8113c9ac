/** Programs that try to reach the host, or to spoil what Toolport does for them. */
import { expect, vi } from "vitest";
import { ALONE, openCode } from "./code-setup.js";
import { faultCase } from "./fault-case.js";

faultCase(
  "E01",
  "none of it exists",
  async (harness) => {
    const { run } = openCode(harness);
    const names =
      "process require module global fetch XMLHttpRequest WebSocket setTimeout setInterval setImmediate WebAssembly Buffer Deno Bun Worker self window importScripts";
    const { value } = await run(`return "${names}".split(" ").filter((name) => name in globalThis)`);
    expect(value).toEqual([]);
    for (const name of ["node:fs", "fs", "file:///etc/passwd", "./x.js", "data:text/javascript,1"])
      expect((await run(`return await import("${name}")`)).error).toMatchObject({ code: "THROWN" });
    expect((await run('import fs from "node:fs"; return fs')).error).toMatchObject({ code: "SYNTAX" });
  },
  ALONE,
);

faultCase(
  "E02",
  "the constructor is that of the guest",
  async (harness) => {
    const { run } = openCode(harness, {
      tools: { fail: { handler: () => ({ isError: true, content: [{ type: "text", text: "no" }] }) } },
    });
    const { value } = await run(`
      const found = [];
      const probe = "return typeof process + typeof require + (this === globalThis)";
      const tryIt = (object) => found.push(object.constructor.constructor(probe)());
      tryIt(tools.s.echo);
      tryIt(await tools.s.echo({ a: 1 }));
      tryIt(tools.s.echo({}));
      await tools.s.fail().catch(tryIt);
      try { tools.s.nothing() } catch (error) { tryIt(error) }
      tryIt(console.log);
      tryIt(ToolError);
      return found;`);
    expect(new Set(value as string[])).toEqual(new Set(["undefinedundefinedtrue"]));
  },
  ALONE,
);

faultCase(
  "E03",
  "they are plain fields",
  async (harness) => {
    const text =
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"then":"x","toJSON":"y"}';
    const { run } = openCode(harness, {
      tools: { evil: { handler: () => ({ structuredContent: JSON.parse(text), content: [] }) } },
    });
    const out = await run(`
      const got = await tools.s.evil();
      return [Object.keys(got), ({}).polluted ?? null, typeof got.then, JSON.stringify(got)];`);
    expect(out.value).toEqual([["__proto__", "constructor", "then", "toJSON"], null, "string", text]);
    const whole = await run("return await tools.s.evil()");
    expect(JSON.stringify(whole.value)).toBe(text);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  },
  ALONE,
);

faultCase(
  "E04",
  "the right arguments are sent",
  async (harness) => {
    const { run, received } = openCode(harness);
    const { value } = await run(`
      const wrong = () => "wrong";
      JSON.stringify = wrong; JSON.parse = wrong;
      Promise.prototype.then = function () { return this };
      Map.prototype.get = wrong; Map.prototype.set = wrong; Set.prototype.has = wrong;
      Array.prototype.join = wrong; Array.prototype.push = wrong; Array.prototype[Symbol.iterator] = wrong;
      String.prototype.slice = wrong; Object.keys = wrong; Object.freeze = wrong; Object.defineProperty = wrong;
      Function.prototype.call = wrong; Function.prototype.apply = wrong; Reflect.apply = wrong; Reflect.construct = wrong;
      Error = wrong; Error.prototype = null; Promise = wrong; Proxy = wrong;
      Object.defineProperty = wrong;
      const got = await tools.s.echo({ a: [1, "x"] });
      console.log("still here");
      return { got };`);
    expect(received).toEqual([{ a: [1, "x"] }]);
    expect(value).toEqual({ got: { got: { a: [1, "x"] } } });
    // Without a working Promise the program spoils its own result, and nothing else.
    const spoiled = await run(`
      Promise.prototype.then = function () { return this };
      Promise.prototype.constructor = class {};
      return await tools.s.echo({ b: 1 });`);
    expect(spoiled.error).toMatchObject({ code: "STUCK" });
    expect(received.at(-1)).toEqual({ b: 1 });
    expect((await run("return await tools.s.echo({ c: 1 })")).value).toEqual({ got: { c: 1 } });
  },
  ALONE,
);

faultCase(
  "E05",
  "they are read once, to JSON",
  async (harness) => {
    const { run, received } = openCode(harness, {
      tools: {
        strict: {
          inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
          handler: () => "ran",
        },
      },
    });
    const { value } = await run(`
      let reads = 0;
      await tools.s.echo({ get n() { return ++reads } });
      await tools.s.echo(new Proxy({ n: 1 }, { get: (target, key) => (reads++, target[key]) }));
      await tools.s.echo({ inner: { toJSON: () => ({ replaced: true }) } });
      return reads;`);
    expect(received).toEqual([{ n: 1 }, { n: 1 }, { inner: { replaced: true } }]);
    // The getter once; the proxy for `toJSON` and for `n`.
    expect(value).toBe(3);
    const wrong = await run("await tools.s.strict({ n: { toJSON: () => [] } })");
    expect(wrong.error).toMatchObject({ toolCode: "INVALID_ARGUMENTS" });
    expect(wrong.calls).toMatchObject([{ outcome: "unsent" }]);
    const thrown = await run('await tools.s.echo({ get n() { throw new RangeError("mine") } })');
    expect(thrown.error?.message).toContain("RangeError");
    expect(thrown.calls).toEqual([]);
  },
  ALONE,
);

faultCase(
  "E06",
  "resolved in the guest, or an error for the model",
  async (harness) => {
    const { run } = openCode(harness);
    expect((await run("return { then: (resolve) => resolve(5) }")).value).toBe(5);
    const cycle = await run("const a = {}; a.a = a; return a");
    expect(cycle.error).toMatchObject({ code: "THROWN", message: expect.stringContaining("TypeError") });
    expect((await run('return { get a() { throw new Error("mine") } }')).error?.message).toContain("mine");
    expect((await run("return { then: (_, reject) => reject(new Error('mine')) }")).error?.message).toContain(
      "mine",
    );
    expect((await run("return { then: () => {} }")).error).toMatchObject({ code: "STUCK" });
    expect((await run("return { toJSON: () => { for (;;) {} } }")).error).toMatchObject({
      code: "CPU_LIMIT",
    });
  },
  ALONE,
);

faultCase(
  "E16",
  "a syntax error, and nothing runs",
  async (harness) => {
    const { run, received } = openCode(harness);
    for (const source of [
      "return 1; } tools.s.echo({}); async function x() {",
      "} }); tools.s.echo({}); (async function () { {",
      "}, async x() { await tools.s.echo({})",
      "} [tools.s.echo({})] = function () {",
      "} + tools.s.echo({}) + function () {",
    ]) {
      const { error } = await run(source);
      expect(error, source).toMatchObject({ code: "SYNTAX", line: 1 });
    }
    expect(received).toEqual([]);
  },
  ALONE,
);

faultCase(
  "E19",
  "the model reads what exists, and the line of its own program",
  async (harness) => {
    const { run } = openCode(harness);
    const tool = await run("const a = 1;\nawait tools.s.ecko({ a });");
    expect(tool.error).toMatchObject({ line: 2, message: expect.stringContaining("tools.s has: echo.") });
    expect(tool.error?.message).toContain("Did you mean tools.s.echo?");
    expect((await run("await tools.github.echo()")).error?.message).toContain("tools has: s.");
    const name = await run("const a = 1;\n\n  retrun(a);");
    expect(name.error).toMatchObject({ line: 3, column: 3 });
    expect(name.error?.message).toContain("retrun(a);");
    // Probes of runtimes do not throw.
    const probes = await run(
      "return [typeof tools.then, typeof tools.s.toJSON, 'nope' in tools.s, Object.keys(tools.s), await tools.s === tools.s]",
    );
    expect(probes.value).toEqual(["undefined", "undefined", false, ["echo"], true]);
    for (const { error } of [tool, name])
      expect(error?.message).not.toMatch(/node_modules|file:|\/src\/|\/dist\/|toolport:\d|at /);
  },
  ALONE,
);

faultCase(
  "E01",
  "no engine is instantiated on the thread of the host, and the host keeps turning",
  async (harness) => {
    const { WebAssembly } = globalThis as unknown as {
      WebAssembly: Record<"instantiate" | "Instance", () => unknown>;
    };
    const spies = [vi.spyOn(WebAssembly, "instantiate"), vi.spyOn(WebAssembly, "Instance")];
    harness.atEnd(() => spies.forEach((spy) => void spy.mockRestore()));
    harness.open({});
    const { run, threads } = openCode(harness);
    let turns = 0;
    let isRunning = true;
    const turn = (): void => {
      turns += 1;
      if (isRunning) setImmediate(turn);
    };
    setImmediate(turn);
    const out = await run("globalThis.x = 1; for (;;) {}");
    isRunning = false;
    expect(out.error).toMatchObject({ code: "CPU_LIMIT" });
    expect(turns).toBeGreaterThan(10);
    expect(threads.started).toBeGreaterThan(0);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    expect((globalThis as { x?: unknown }).x).toBeUndefined();
  },
);
