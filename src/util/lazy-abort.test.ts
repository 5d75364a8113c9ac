import { describe, expect, it } from "vitest";
import { attachAbort } from "./attach-abort.js";
import { attachedAbort } from "./attached-abort.js";
import { LazyAbort, toSignal } from "./lazy-abort.js";

describe("LazyAbort", () => {
  it("calls back once, with the reason of the first abort", () => {
    const abort = new LazyAbort();
    const calls: unknown[] = [];
    abort.onAbort(() => calls.push(abort.reason));
    abort.onAbort(() => calls.push("removed"))();
    abort.abort("first");
    abort.abort("second");
    expect(calls).toEqual(["first"]);
    expect([abort.aborted, abort.reason]).toEqual([true, "first"]);
  });

  it("has a real signal, whether it is read before or after the abort", () => {
    for (const isEarly of [true, false]) {
      const abort = new LazyAbort();
      const early = isEarly ? abort.signal : undefined;
      abort.abort("why");
      expect(abort.signal).toBeInstanceOf(AbortSignal);
      expect([abort.signal.aborted, abort.signal.reason]).toEqual([true, "why"]);
      if (early !== undefined) expect(early).toBe(abort.signal);
      expect(toSignal(abort)).toBe(abort.signal);
    }
  });

  it("lets a callback remove another one", () => {
    const abort = new LazyAbort();
    const calls: string[] = [];
    const removers: (() => void)[] = [];
    abort.onAbort(() => {
      calls.push("a");
      for (const remove of removers) remove();
    });
    removers.push(abort.onAbort(() => calls.push("b")));
    abort.abort(undefined);
    expect(calls[0]).toBe("a");
  });
});

describe("attachAbort", () => {
  it("gives a real signal to readers, to copies and to derived objects", () => {
    const abort = new LazyAbort();
    const options = attachAbort({ timeoutMs: 5 }, abort);
    expect(attachedAbort(options)).toBe(abort);
    const copy = { ...options };
    expect(Object.entries(copy)).toEqual([
      ["timeoutMs", 5],
      ["signal", abort.signal],
    ]);
    expect(Object.getOwnPropertyDescriptor(copy, "signal")?.value).toBe(abort.signal);
    expect(attachedAbort(copy)).toBeUndefined();
    expect(Object.create(options).signal).toBe(abort.signal);
  });

  it("is not found on options with another signal", () => {
    const other = new AbortController().signal;
    const options = attachAbort({}, new LazyAbort());
    expect(attachedAbort({ ...options, signal: other })).toBeUndefined();
    expect(attachedAbort(Object.create(options, { signal: { value: other } }))).toBeUndefined();
  });
});
