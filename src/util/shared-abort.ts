/** Many waiters on one `AbortSignal` at the price of one listener. */
import { SlotList, type Slotted } from "./slot-list.js";

/** One callback; the same function may wait twice. */
interface Waiter extends Slotted {
  readonly callback: () => void;
}

const waiters = new WeakMap<AbortSignal, SlotList<Waiter>>();

/**
 * Calls back when the signal aborts. All requests of a connection, or all calls of an agent's turn, share one signal: a
 * listener for each would make Node warn of a leak at the eleventh in flight. Returns the way to stop waiting.
 */
export function onSharedAbort(signal: AbortSignal, callback: () => void): () => void {
  let waiting = waiters.get(signal);
  if (waiting === undefined) {
    waiting = new SlotList();
    waiters.set(signal, waiting);
  }
  if (waiting.size === 0) signal.addEventListener("abort", tellAll);
  const waiter: Waiter = { slot: -1, callback };
  waiting.add(waiter);
  const list = waiting;
  return () => {
    if (list.delete(waiter) && list.size === 0) signal.removeEventListener("abort", tellAll);
  };
}

function tellAll(this: AbortSignal): void {
  this.removeEventListener("abort", tellAll);
  const all = waiters.get(this)?.toArray() ?? [];
  waiters.delete(this);
  for (const { callback } of all) callback();
}
