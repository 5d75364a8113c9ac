/** Many callbacks on one `AbortSignal` with a single listener. */
import { SlotList, type Slotted } from "./slot-list.js";

/** One registration; the same function may be registered twice. */
interface Waiter extends Slotted {
  readonly callback: () => void;
}

const waiters = new WeakMap<AbortSignal, SlotList<Waiter>>();

/**
 * Calls back when the signal aborts. All requests of a connection, or all calls of an agent's turn, may share one signal: with a
 * listener for each, Node would warn of a leak at the eleventh. Returns a function that removes the callback.
 */
export function onSharedAbort(signal: AbortSignal, callback: () => void): () => void {
  let waiting = waiters.get(signal);
  if (waiting === undefined) {
    waiting = new SlotList();
    waiters.set(signal, waiting);
  }
  if (waiting.size === 0) signal.addEventListener("abort", onAbort);
  const waiter: Waiter = { slot: -1, callback };
  waiting.add(waiter);
  const list = waiting;
  return () => {
    if (list.delete(waiter) && list.size === 0) signal.removeEventListener("abort", onAbort);
  };
}

function onAbort(this: AbortSignal): void {
  this.removeEventListener("abort", onAbort);
  const all = waiters.get(this)?.toArray() ?? [];
  waiters.delete(this);
  for (const { callback } of all) callback();
}
