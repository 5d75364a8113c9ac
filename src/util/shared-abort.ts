/** Many waiters on one `AbortSignal` at the price of one listener. */

const waiters = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts. All requests of a connection, or all calls of an agent's turn, share one signal: a
 * listener for each would make Node warn of a leak at the eleventh in flight. Returns the way to stop waiting.
 */
export function onSharedAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = waiters.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    waiters.set(signal, callbacks);
  }
  if (callbacks.size === 0) signal.addEventListener("abort", tellAll);
  callbacks.add(callback);
  const waiting = callbacks;
  return () => {
    if (waiting.delete(callback) && waiting.size === 0) signal.removeEventListener("abort", tellAll);
  };
}

function tellAll(this: AbortSignal): void {
  this.removeEventListener("abort", tellAll);
  const callbacks = [...(waiters.get(this) ?? [])];
  waiters.delete(this);
  for (const callback of callbacks) callback();
}
