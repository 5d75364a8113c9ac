/** Waiting until the event loop has read what its sockets and pipes already hold. */

/**
 * Calls back once the event loop has polled for I/O again. A timer that went off late, because the host was blocked, runs
 * before what arrived in the meantime is read; this lets the reading go first.
 *
 * @returns cancels the call
 */
export function afterNextPoll(callback: () => void): () => void {
  // Node runs immediates right after it has polled. Browsers and Workers have none; there, another timer has to do.
  if (typeof setImmediate === "function") {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
}
