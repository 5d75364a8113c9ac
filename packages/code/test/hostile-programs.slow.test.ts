/** Hostile and odd programs: each ends as its row says, nothing of the host is reached, and no thread is left. */
import { createToolport } from "toolport";
import { type CodeMode, createCodeMode } from "toolport/code";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { watchThreads } from "../../../test/support/watch-threads.js";

/** A value, or a pattern for the code of the error. */
type Expected = { readonly value: unknown } | RegExp;
const is = (value: unknown): Expected => ({ value });
const FAILS = /^(THROWN|CPU_LIMIT|MEMORY_LIMIT|RESULT_TOO_LARGE|STUCK)$/;
const HANGS = /^(CPU|MEMORY)_LIMIT$/;

const PROGRAMS: readonly (readonly [source: string, expected: Expected])[] = [
  // Ways to a host.
  ["return typeof globalThis.process", is("undefined")],
  ["return Function('return typeof process')()", is("undefined")],
  ["return (0, eval)('typeof require')", is("undefined")],
  ["return (async () => {}).constructor('return typeof process')()", is("undefined")],
  [
    "return Object.getPrototypeOf(function* () {}).constructor('yield typeof fetch')().next().value",
    is("undefined"),
  ],
  ["return this === globalThis && typeof this.process", is("undefined")],
  ["return tools.s.echo.constructor('return typeof process')()", is("undefined")],
  ["return tools.s.echo.__proto__.constructor('return typeof module')()", is("undefined")],
  ["return new Error('x').stack.includes('node_modules')", is(false)],
  ["try { null.x } catch (e) { return /\\/(src|dist|home|root|work)\\//.test(e.stack) }", is(false)],
  [
    "Error.prepareStackTrace = (_, frames) => frames; return typeof new Error('x').stack",
    is(expect.any(String)),
  ],
  ["return await import('node:child_process')", FAILS],
  ["return Reflect.ownKeys(console).sort().join()", is("debug,error,info,log,warn")],
  ["return typeof SharedArrayBuffer === 'function' && typeof Atomics", is(expect.anything())],
  // The object `tools`.
  ["tools.s = {}; return typeof tools.s.echo", is("function")],
  ["'use strict'; tools.s.echo = 1; return 1", FAILS],
  ["delete tools.s; return Object.keys(tools)", is(["s"])],
  ["globalThis.tools = 1; return tools", is(1)],
  ["return Object.isFrozen(tools.s.echo)", is(true)],
  ["return await tools.s.echo.call(null, { a: 1 })", is({ got: { a: 1 } })],
  ["const { echo } = tools.s; return await echo({ a: 1 })", is({ got: { a: 1 } })],
  ["return await tools['s']['echo']({ a: 1 })", is({ got: { a: 1 } })],
  ["return JSON.stringify(tools)", is('{"s":{}}')],
  ["return await tools.s.echo({ a: undefined, b: () => 1, c: Symbol('x') })", is({ got: {} })],
  ["return await tools.s.echo(new Date(0))", FAILS],
  ["return await tools.s.echo('text')", FAILS],
  ["return await tools.s.echo(null)", FAILS],
  ["const a = {}; a.a = a; await tools.s.echo(a)", FAILS],
  ["for (let i = 0; i < 200; i++) tools.s.echo({ i }); return 1", is(1)],
  ["return (await Promise.allSettled([tools.s.echo({}), tools.s.none?.()]))", FAILS],
  // Values.
  ["return undefined", is(undefined)],
  ["return NaN", is(null)],
  ["return 10n", FAILS],
  ["return Symbol('x')", is(undefined)],
  ["return new Map([[1, 2]])", is({})],
  ["return '\\ud800'", is(expect.any(String))],
  ["return [1, , 3]", is([1, null, 3])],
  ["return new Proxy({}, { ownKeys() { throw new Error('mine') } })", FAILS],
  ["return { toJSON() { return { toJSON: 1 } } }", is({ toJSON: 1 })],
  ["return await { then(r) { r(r) } }", is(undefined)],
  ["Object.prototype.then = function (r) { r(7) }; return {}", is(7)],
  ["Object.prototype.toJSON = () => 8; return {}", is(8)],
  ["throw { get message() { throw 1 }, get name() { throw 2 }, get stack() { throw 3 } }", FAILS],
  ["throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })", FAILS],
  ["throw Object.assign(new Error('x'.repeat(1e6)), { name: 'y'.repeat(1e6) })", FAILS],
  // Promises, iterators and errors of the program's own making.
  [
    "class P extends Promise { constructor(run) { super((ok, no) => run(() => ok('stolen'), no)) } static get [Symbol.species]() { return P } } " +
      "globalThis.Promise = P; return await tools.s.echo({ a: 1 })",
    is({ got: { a: 1 } }),
  ],
  ["Promise.prototype.then = () => { throw 1 }; return await tools.s.echo({ a: 1 })", is({ got: { a: 1 } })],
  [
    "Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('mine') } }); return await tools.s.echo({})",
    FAILS,
  ],
  [
    "const call = tools.s.echo({}); Object.defineProperty(call, 'then', { value: (f) => f('own') }); return await call",
    is({ got: {} }),
  ],
  ["for await (const _ of { [Symbol.asyncIterator]: () => ({ next: () => ({}) }) });", HANGS],
  [
    "for await (const _ of { [Symbol.asyncIterator]: () => ({ next: () => tools.s.echo({}) }) });",
    /^CALL_LIMIT$/,
  ],
  [
    "const g = (function* () { try { yield 1 } finally { for (;;) yield 2 } })(); g.next(); g.return(); return [...g]",
    FAILS,
  ],
  ["Error.prepareStackTrace = () => { throw 1 }; return await tools.s.echo({ a: 1 })", is({ got: { a: 1 } })],
  [
    "Error.prepareStackTrace = () => 'program:9:9'.repeat(1e5); return await tools.s.echo({ a: 1 })",
    is({ got: { a: 1 } }),
  ],
  ["Error.stackTraceLimit = 0; throw new Error('x')", FAILS],
  ["throw Object.assign(new Error('x'), { stack: 'at program:0:0' })", FAILS],
  [
    "throw Object.assign(new Error('x'), { stack: 'at program:1e999:-1 program:99999999999999999999:1' })",
    FAILS,
  ],
  ["queueMicrotask(() => { throw new Error('late') }); await null; return 1", /^THROWN$/],
  ["queueMicrotask(() => { throw { toString() { for (;;); } } }); await null; return 1", HANGS],
  ["Promise.reject(new Error('ignored')); return 1", is(1)],
  [
    "new FinalizationRegistry(() => { throw 1 }).register({}, 1); for (let i = 0; i < 1e4; i++) ({}); return 1",
    is(1),
  ],
  // Scopes and names.
  ["with ({ tools: { s: { echo: () => 'own' } } }) { return tools.s.echo() }", is("own")],
  ["eval('var send = 1, finish = 2, write = 3'); return await tools.s.echo({ a: 1 })", is({ got: { a: 1 } })],
  ["return await t\\u006fols.s.\\u0065cho({ a: 1 })", is({ got: { a: 1 } })],
  ["return arguments.callee.caller", FAILS],
  ["return arguments.length", is(0)],
  ["new SharedArrayBuffer(8, { maxByteLength: 1e9 }).grow(1e9)", FAILS],
  ["Object.setPrototypeOf(tools, { x: 1 })", FAILS],
  ["Object.defineProperty(tools.s, 'echo', { value: 1 })", FAILS],
  ["return '' + tools.s", FAILS],
  // Sparse arrays and symbols.
  ["const a = []; a.length = 2 ** 32 - 1; return a", HANGS],
  ["return await tools.s.echo({ list: Object.assign([], { length: 2 ** 32 - 1 }) })", HANGS],
  ["return { [Symbol.toPrimitive]: () => 1, [Symbol.iterator]: 1, a: Symbol.for('x') }", is({})],
  ["console.log(new Proxy(function () {}, { get() { throw 1 } })); return 1", is(1)],
  // Too much.
  ["for (;;);", HANGS],
  ["await (async function f() { await f() })()", FAILS],
  ["const a = []; a[4294967294] = 1; return a.indexOf(2)", FAILS],
  ["return 'a'.padEnd(2 ** 29)", FAILS],
  ["return [].concat(...Array(1e6).fill([1, 2, 3])).length", FAILS],
  ["return Array(1e8).fill('x').join('y').length", FAILS],
  ["return new RegExp('(' .repeat(1e4) + ')'.repeat(1e4)).test('')", FAILS],
  ["return BigInt(2) ** BigInt(10 ** 9)", FAILS],
  ["label: for (;;) { try { continue label } finally { continue label } }", HANGS],
  ["const w = new WeakRef({}); for (;;) w.deref()", HANGS],
  ["new Function('for(;;){}')()", HANGS],
  ["const t = { get a() { return t.a } }; return t.a", FAILS],
  ["class A extends (for_ever(), Object) {} function for_ever() { for (;;) {} }", HANGS],
];

const threads = watchThreads();
let server: TestServer;
let code: CodeMode;
let closeAll: () => Promise<void>;
beforeAll(() => {
  server = createTestServer({
    tools: { echo: { handler: (args) => ({ structuredContent: { got: args }, content: [] }) } },
  });
  const toolport = createToolport({ mcpServers: { s: server.memory() } });
  code = createCodeMode(toolport, { limits: { cpuMs: 400 } });
  closeAll = async () => {
    await code.close();
    await toolport.close();
    await server.close();
  };
});
afterAll(async () => {
  await closeAll();
  threads.stop();
  expect(threads.alive()).toBe(0);
});

test("there are about fifty", () => {
  expect(PROGRAMS.length).toBeGreaterThanOrEqual(50);
});

test.each(PROGRAMS)("%s", async (source, expected) => {
  const out = await code.execute(source);
  if (expected instanceof RegExp)
    expect(out.error?.code ?? `value ${JSON.stringify(out.value)}`).toMatch(expected);
  else expect(out.error ?? { value: out.value }).toEqual(expected);
  const said = JSON.stringify([out.error, out.logs, out.value]) ?? "";
  expect(said).not.toMatch(/node_modules|file:\/\/|\/src\/code|\/dist\/code|worker\/main/);
  expect(({} as { then?: unknown }).then).toBeUndefined();
});
