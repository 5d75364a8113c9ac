import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FeedListener, followChanges } from "./change-feed.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server that can be away, and remembers how far back it was asked. */
function createServer() {
  const server = {
    isUp: true,
    isAnswering: true,
    asked: [] as number[],
    missed: [] as string[],
    open: [] as FeedListener[],
    closed: 0,
    connect: async (listener: FeedListener) => {
      if (!server.isUp) throw new Error("away");
      server.open.push(listener);
      return {
        async changedWithin(ms: number) {
          server.asked.push(ms);
          return server.missed.splice(0);
        },
        async check() {
          if (!server.isAnswering) throw new Error("no answer");
        },
        close: () => {
          server.closed++;
        },
      };
    },
  };
  return server;
}

test("asks after a gap for what happened in it, and tells it", async () => {
  const server = createServer();
  const told: string[] = [];
  const stop = followChanges(server.connect, (key) => told.push(key));
  await vi.advanceTimersByTimeAsync(0);
  server.open[0]?.onKey("a");
  // Connections are checked every 15 s; what came before the last good check was told.
  await vi.advanceTimersByTimeAsync(50_000);
  server.isUp = false;
  server.open[0]?.onLost();
  await vi.advanceTimersByTimeAsync(20_000);
  server.missed.push("b");
  server.isUp = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual(["a", "b"]);
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

test("replaces a connection that is dead without a word", async () => {
  const server = createServer();
  const stop = followChanges(server.connect, () => {});
  await vi.advanceTimersByTimeAsync(1_000);
  server.isAnswering = false;
  await vi.advanceTimersByTimeAsync(15_000);
  server.isAnswering = true;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(server.closed).toBe(1);
  expect(server.open).toHaveLength(2);
  stop();
});

test("tells nothing after it was stopped, even if it was just opening", async () => {
  const server = createServer();
  const told: string[] = [];
  const stop = followChanges(server.connect, (key) => told.push(key));
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  server.open[0]?.onKey("a");
  expect(told).toEqual([]);
  expect(server.open.length).toBe(server.closed);
  expect(vi.getTimerCount()).toBe(0);
});
