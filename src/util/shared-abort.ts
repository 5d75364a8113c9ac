/** Many callbacks on one `AbortSignal` with a single listener. */
const waiters = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts. All requests of a connection, or all calls of an agent's turn, may share one signal: with a
 * listener for each, Node would warn of a leak at the eleventh. Returns a function that removes the callback.
 */
export function onSharedAbort(signal: AbortSignal, callback: () => void): () => void {
  let waiting = waiters.get(signal);
  if (waiting === undefined) {
    waiting = new Set();
    waiters.set(signal, waiting);
  }
  if (waiting.size === 0) signal.addEventListener("abort", onAbort);
  // The same function may be registered twice.
  const waiter = () => callback();
  waiting.add(waiter);
  const list = waiting;
  return () => {
    if (list.delete(waiter) && list.size === 0) signal.removeEventListener("abort", onAbort);
  };
}

function onAbort(this: AbortSignal): void {
  this.removeEventListener("abort", onAbort);
  const all = waiters.get(this) ?? [];
  waiters.delete(this);
  for (const waiter of all) waiter();
}
