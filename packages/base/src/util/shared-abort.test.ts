import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onSharedAbort } from "./timers.js";

it("uses one listener for many callbacks, and none after they are removed", () => {
  const { signal } = new AbortController();
  const stops = Array.from({ length: 100 }, () => onSharedAbort(signal, () => {}));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  for (const stop of stops) stop();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  const again = onSharedAbort(signal, () => {});
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  again();
});

it("calls every remaining callback once", () => {
  const controller = new AbortController();
  const called: string[] = [];
  onSharedAbort(controller.signal, () => called.push("a"));
  const stop = onSharedAbort(controller.signal, () => called.push("b"));
  onSharedAbort(controller.signal, () => called.push("c"));
  stop();
  controller.abort();
  expect(called).toEqual(["a", "c"]);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
});
