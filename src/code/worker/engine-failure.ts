/** Errors of the engine itself, outside the functions of the guest. */
import { JSException } from "quickjs-wasi";
import { crashed, type EndError, memoryLimit } from "../program-ends.js";

/** Characters of an error's message. */
const MAX_MESSAGE = 4_000;

export function engineFailure(failure: unknown): EndError {
  const message = failure instanceof Error ? failure.message : "";
  if (/out of memory|wasm_malloc/.test(message)) return memoryLimit();
  // A callback of the program that nothing awaits, for example of queueMicrotask().
  const [, name = "Error", thrown] = /^Job execution error: (?:(\w+): )?(.*)$/s.exec(message) ?? [];
  if (thrown !== undefined) return { code: "THROWN", name, message: thrown.slice(0, MAX_MESSAGE) };
  // The stack of the engine overflowed. It cannot continue, but the program is to blame.
  if (failure instanceof RangeError || failure instanceof JSException)
    return { code: "THROWN", name: failure.name, message };
  return crashed("The engine that runs programs failed");
}
