/**
 * The code inside the VM around the program of a model: `tools`, `console`, `ToolError`. It takes every function that it needs before
 * the program runs, because the program may replace any of them.
 */

/** A function of these parameters: host functions by name, the members of `tools` as JSON, limits. Returns what the worker calls. */
export const GUEST_SOURCE = `(function (countObjects, send, write, finish, members, maxOutput, maxResult, maxCalls) {
"use strict";
const { stringify, parse } = JSON;
const { apply, construct } = Reflect;
const { create, defineProperty, freeze, getOwnPropertyDescriptor, prototype: { toString: tagOf } } = Object;
const NativeError = Error, NativeTypeError = TypeError, NativePromise = Promise, NativeProxy = Proxy, text = String;
const { then } = NativePromise.prototype;
const stackOf = getOwnPropertyDescriptor(NativeError.prototype, "stack")?.get;
const cut = ((slice) => (value, length) => apply(slice, value, [0, length]))(text.prototype.slice);
const define = (target, name, value) =>
  defineProperty(target, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false });

class ToolError extends NativeError {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}
define(ToolError.prototype, "name", "ToolError");
// The codes of errors that really come from calls: a program can write any code into an error of its own.
const codes = new WeakMap();
const { get: getCode, set: setCode } = WeakMap.prototype;
const toolError = (message, code) => {
  const error = construct(NativeError, [message], ToolError);
  apply(setCode, codes, [error, code]);
  defineProperty(error, "code", { __proto__: null, value: code, writable: true, configurable: true, enumerable: true });
  return error;
};

const here = () => {
  const error = construct(NativeError, [""]);
  const stack = stackOf === undefined ? error.stack : apply(stackOf, error, []);
  return typeof stack === "string" ? stack : "";
};

// Calls. Those that the host would refuse never reach it.
const MAX_ARGUMENTS = 1 << 20, MAX_SENT = 4 << 20;
// In characters: an object takes the host longer to read than its text. 100,000 objects at a time, as in messages of clients.
const OBJECT_WEIGHT = 40;
let count = 0, sent = 0;
const pending = create(null);
const failed = (error) => new NativePromise((_, reject) => reject(error));
const toJson = (args) => {
  if (args === undefined) return undefined;
  const json = stringify(args);
  if (typeof json !== "string") throw new NativeTypeError("A tool takes one object with its arguments");
  if (json.length > MAX_ARGUMENTS)
    throw toolError("The arguments have " + json.length + " characters; the limit is " + MAX_ARGUMENTS + ".", "INVALID_ARGUMENTS");
  return json;
};
const take = (id) => {
  const call = pending[id];
  delete pending[id];
  sent -= call.size;
  return call;
};
const toTool = (server, tool) => {
  const run = (args) => {
    const stack = here();
    try {
      const json = toJson(args);
      if (count >= maxCalls) throw toolError("A program may make " + maxCalls + " calls.", "CALL_LIMIT");
      const size = json === undefined ? 0 : json.length + OBJECT_WEIGHT * countObjects(json);
      if (size > MAX_SENT)
        throw toolError("The arguments have too many objects and arrays, or too many levels.", "INVALID_ARGUMENTS");
      if (sent + size > MAX_SENT)
        throw toolError("The calls that run have too many arguments together. Await some of them first.", "INVALID_ARGUMENTS");
      const id = ++count;
      sent += size;
      const answer = new NativePromise((resolve, reject) => {
        pending[id] = { __proto__: null, resolve, reject, stack, size };
      });
      send(id, server, tool, json, stack);
      return answer;
    } catch (error) {
      return failed(error);
    }
  };
  define(run, "name", tool);
  return freeze(run);
};

// Runtimes and people probe objects for these.
const PROBES = {
  __proto__: null, then: 1, toJSON: 1, constructor: 1, prototype: 1, ["__proto__"]: 1, valueOf: 1, toString: 1, hasOwnProperty: 1,
};
let lastMiss;
const missing = (what, names, server, key) => {
  let list = "";
  for (let index = 0; index < names.length && index < 30; index++) list += (index === 0 ? "" : ", ") + names[index];
  const error = toolError(what + " It has: " + list + (names.length > 30 ? ", …" : ""), "TOOL_NOT_FOUND");
  lastMiss = { __proto__: null, error, server, key };
  return error;
};
const guarded = (target, fail) =>
  new NativeProxy(freeze(target), {
    __proto__: null,
    get(object, key) {
      if (key in object) return object[key];
      if (typeof key !== "string" || PROBES[key] === 1) return undefined;
      throw fail(key);
    },
  });
const { names: serverNames, tools: toolNames } = parse(members);
const tools = create(null);
for (let index = 0; index < serverNames.length; index++) {
  const server = serverNames[index];
  const names = toolNames[index];
  const functions = create(null);
  for (let at = 0; at < names.length; at++) functions[names[at]] = toTool(server, names[at]);
  tools[server] = guarded(functions, (key) =>
    missing("tools." + server + " has no function " + stringify(key) + ".", names, server, key));
}
define(globalThis, "tools", guarded(tools, (key) =>
  missing("tools has no server " + stringify(key) + ".", serverNames, key)));
define(globalThis, "ToolError", ToolError);

// Output.
const field = (value, key) => {
  try {
    const found = value[key];
    return typeof found === "string" ? found : undefined;
  } catch {
    return undefined;
  }
};
const isError = (value) => {
  try {
    return apply(tagOf, value, []) === "[object Error]" || value instanceof NativeError;
  } catch {
    return false;
  }
};
const show = (value) => {
  if (typeof value === "string") return value;
  try {
    if (typeof value !== "object" || value === null) return text(value);
    if (isError(value)) return (field(value, "name") ?? "Error") + ": " + (field(value, "message") ?? "");
    return stringify(value) ?? "[object]";
  } catch {
    return "[object]";
  }
};
const print = (...values) => {
  let line = "";
  for (let index = 0; index < values.length; index++) line += (index === 0 ? "" : " ") + show(values[index]);
  // No more is copied out of the VM than can be kept.
  write(line.length > maxOutput ? cut(line, maxOutput) : line, line.length);
};
const levels = {};
for (const level of ["log", "info", "warn", "error", "debug"]) levels[level] = print;
define(globalThis, "console", levels);

// The end of the program.
const fail = (error) => {
  const isObject = (typeof error === "object" && error !== null) || typeof error === "function";
  const name = (isObject ? field(error, "name") : undefined) ?? "Error";
  const message = (isObject ? field(error, "message") : undefined) ?? show(error);
  const stack = (isObject ? field(error, "stack") : undefined) ?? "";
  const code = isObject ? apply(getCode, codes, [error]) : undefined;
  const missed = lastMiss?.error === error ? lastMiss : undefined;
  const short = (value) => (value === undefined ? undefined : cut(value, 200));
  finish("thrown", cut(name, 200), cut(message, 4000), cut(stack, 4000), short(code), short(missed?.server), short(missed?.key));
};
const succeed = (value) => {
  try {
    const json = stringify(value);
    if (json !== undefined && json.length > maxResult) finish("large", text(json.length));
    else finish("value", json);
  } catch (error) {
    fail(error);
  }
};
return freeze({
  __proto__: null,
  // Without await: the program can make it throw, and the engine does not give that error to a catch clause.
  run(program) {
    try {
      const ended = program();
      apply(then, ended, [succeed, fail]);
      return ended;
    } catch (error) {
      fail(error);
    }
  },
  answer(id, json) {
    const { resolve, reject } = take(id);
    try {
      resolve(json === undefined ? undefined : parse(json));
    } catch (error) {
      reject(error);
    }
  },
  fail(id, name, code, message) {
    const { reject, stack } = take(id);
    const error = toolError(message, code);
    define(error, "stack", stack);
    if (name !== "ToolError") define(error, "name", name);
    reject(error);
  },
});
})`;
