import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EndpointContext } from "./endpoint.js";
import { EndpointStreams } from "./endpoint-streams.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection that is closed before the stream is requested. */
const closedContext = () =>
  ({
    endpoint: {
      begin: () => ({ aborted: true }),
      release() {},
      send: () => Promise.reject(new Error("closed")),
    },
    messageHeaders: { forStream: () => ({}) },
    onStream() {},
    onError() {},
  }) as unknown as EndpointContext;

test("a handshake that ends after the connection starts no timer", async () => {
  const streams = new EndpointStreams(closedContext());
  let finishHandshake = () => {};
  const handshake = new Promise<void>((resolve) => {
    finishHandshake = resolve;
  });
  await streams.listen(handshake);
  finishHandshake();
  await handshake;
  expect(vi.getTimerCount()).toBe(0);
});
