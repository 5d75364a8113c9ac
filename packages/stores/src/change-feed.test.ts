import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FeedListener, followChanges } from "./remote-database.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A database that can be down, and records how far back `changedWithin` was asked to look. */
function createServer() {
  const server = {
    isUp: true,
    isAnswering: true,
    canMissNotices: false,
    asked: [] as number[],
    missed: [] as string[],
    open: [] as FeedListener[],
    closed: 0,
    connect: async (listener: FeedListener) => {
      if (!server.isUp) throw new Error("down");
      server.open.push(listener);
      return {
        subscribe: async () => {},
        async ping() {
          if (!server.isAnswering) throw new Error("no response");
        },
        close: () => {
          server.closed++;
        },
        canMissNotices: server.canMissNotices,
      };
    },
    async changedWithin(ms: number) {
      server.asked.push(ms);
      return server.missed.splice(0);
    },
    limited: <T>(call: (signal: AbortSignal) => Promise<T>) => call(new AbortController().signal),
  };
  return server;
}

test("reports the changes of a time without a connection", async () => {
  const server = createServer();
  const reported: string[] = [];
  const stop = followChanges(server, (key) => reported.push(key));
  await vi.advanceTimersByTimeAsync(0);
  server.open[0]?.onKey("a");
  // Connections are checked every 15 s; changes before the last successful check were reported.
  await vi.advanceTimersByTimeAsync(50_000);
  server.isUp = false;
  server.open[0]?.onLost();
  await vi.advanceTimersByTimeAsync(20_000);
  server.missed.push("b");
  server.isUp = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reported).toEqual(["a", "b"]);
  expect(server.open).toHaveLength(2);
  expect(server.closed).toBe(1);
  expect(server.asked[0]).toBeLessThan(2_000);
  expect(server.asked[1]).toBeGreaterThan(25_000);
  expect(server.asked[1]).toBeLessThan(45_000);
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(server.closed).toBe(2);
  expect(vi.getTimerCount()).toBe(0);
});

test("replaces a connection that no longer responds", async () => {
  const server = createServer();
  const stop = followChanges(server, () => {});
  await vi.advanceTimersByTimeAsync(1_000);
  server.isAnswering = false;
  await vi.advanceTimersByTimeAsync(15_000);
  server.isAnswering = true;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(server.closed).toBe(1);
  expect(server.open).toHaveLength(2);
  stop();
});

test("reports nothing after it was stopped, even while it connects", async () => {
  const server = createServer();
  const reported: string[] = [];
  const stop = followChanges(server, (key) => reported.push(key));
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  server.open[0]?.onKey("a");
  expect(reported).toEqual([]);
  expect(server.open.length).toBe(server.closed);
  expect(vi.getTimerCount()).toBe(0);
});

test("asks for recent changes when a notice names no key", async () => {
  const server = createServer();
  const reported: string[] = [];
  const stop = followChanges(server, (key) => reported.push(key));
  await vi.advanceTimersByTimeAsync(0);
  server.missed.push("long");
  server.open[0]?.onUnnamedKey();
  await vi.advanceTimersByTimeAsync(0);
  expect(reported).toEqual(["long"]);
  expect(server.asked.at(-1)).toBe(10_000);
  stop();
});

test("asks for recent changes at every check if the connection can miss notices", async () => {
  const server = createServer();
  server.canMissNotices = true;
  const reported: string[] = [];
  const stop = followChanges(server, (key) => reported.push(key));
  await vi.advanceTimersByTimeAsync(0);
  server.missed.push("missed");
  await vi.advanceTimersByTimeAsync(15_000);
  expect(reported).toEqual(["missed"]);
  expect(server.asked.at(-1)).toBe(30_000);
  stop();
});
