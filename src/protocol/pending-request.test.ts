/** The clock of one request, with the clock in our hands. */
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ToolCallError } from "../errors/tool-call-error.js";
import { DeadlineClock } from "./deadline-clock.js";
import { IdTable, PendingRequest, type RequestLimits } from "./pending-request.js";

let clock: DeadlineClock;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  clock = new DeadlineClock();
});
afterEach(() => {
  expect(clock.isHolding).toBe(false);
  clock.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A request whose end can be looked at any time. */
function start(limits: Partial<RequestLimits>) {
  const cancels: string[] = [];
  const seen = { received: 0, silences: 0 };
  const request = new PendingRequest({
    id: "one",
    method: "tools/call",
    limits: { timeoutMs: 1_000, maxTimeoutMs: 10_000, ...limits },
    host: {
      server: "it",
      clock,
      lastSignAt: () => 0,
      redactError: (error) => error,
      redact: (text) => text,
      received: () => seen.received,
      cancel: (_id, why) => {
        cancels.push(why);
        return false;
      },
      silent: () => {
        seen.silences += 1;
      },
    },
  });
  const end: { value?: unknown; error?: unknown } = {};
  const settled = request.promise.then(
    (value) => {
      end.value = value;
    },
    (error: unknown) => {
      end.error = error;
    },
  );
  return { request, cancels, seen, end, settled };
}

describe("the limit of silence", () => {
  test("ends the request, tells the server, and says how long it was", async () => {
    const { cancels, end, settled } = start({});
    vi.advanceTimersByTime(999);
    expect(cancels).toEqual([]);
    vi.advanceTimersByTime(1);
    await settled;
    expect(cancels).toHaveLength(1);
    expect(end.error).toMatchObject({ code: "TIMEOUT", server: "it", phase: "tools/call", retryable: true });
    expect((end.error as ToolCallError).what).toContain("1000 ms");
    expect((end.error as ToolCallError).next).toContain("timeoutMs");
  });

  test("begins anew with every sign of progress, up to the hard cap", async () => {
    const { request, end, settled } = start({});
    for (let second = 0; second < 11; second += 1) {
      vi.advanceTimersByTime(900);
      request.progress({ progress: second });
      await Promise.resolve();
      expect(end).toEqual({});
    }
    vi.advanceTimersByTime(100);
    await settled;
    expect((end.error as ToolCallError).what).toContain("10000 ms");
    expect((end.error as ToolCallError).next).toContain("maxTimeoutMs");
  });

  test("reports silence only if nothing at all arrived, and never for a quiet request", async () => {
    const silent = start({});
    const answered = start({});
    const quiet = start({ quiet: true });
    answered.seen.received += 1;
    vi.advanceTimersByTime(1_000);
    await Promise.all([silent.settled, answered.settled, quiet.settled]);
    expect([silent, answered, quiet].map(({ seen }) => seen.silences)).toEqual([1, 0, 0]);
  });

  test("is extended by the time in which the host was blocked, once", () => {
    const { request } = start({});
    vi.advanceTimersByTime(900);
    expect(request.extend(300)).toBe(true);
    expect(request.dueAt() - performance.now()).toBe(300);
    expect(request.extend(300)).toBe(false);
    request.resolve({});
  });

  test("of no time at all ends it in the next turn, not in the constructor", async () => {
    const { cancels, end, settled } = start({ timeoutMs: 0 });
    expect(cancels).toEqual([]);
    vi.advanceTimersByTime(1);
    await settled;
    expect(end.error).toMatchObject({ code: "TIMEOUT" });
  });

  test("Infinity sets no limit, but keeps the host alive until the answer", async () => {
    const { request, end, settled } = start({
      timeoutMs: Number.POSITIVE_INFINITY,
      maxTimeoutMs: Number.POSITIVE_INFINITY,
    });
    expect(clock.isHolding).toBe(true);
    vi.advanceTimersByTime(100 * 86_400_000);
    expect(clock.isHolding).toBe(true);
    request.resolve("at last");
    await settled;
    expect(end.value).toBe("at last");
  });

  test("of more than a timer can hold is waited for in pieces", async () => {
    const day = 86_400_000;
    const { end, settled } = start({ timeoutMs: 30 * day, maxTimeoutMs: 100 * day });
    vi.advanceTimersByTime(29 * day);
    await Promise.resolve();
    expect(end).toEqual({});
    vi.advanceTimersByTime(day);
    await settled;
    expect(end.error).toMatchObject({ code: "TIMEOUT" });
  });
});

test("an answer stops the clock", async () => {
  const { request, cancels, end, settled } = start({});
  request.resolve({ ok: true });
  await settled;
  vi.advanceTimersByTime(60_000);
  expect({ end, cancels }).toEqual({ end: { value: { ok: true } }, cancels: [] });
});

test.each([
  [-32603, true],
  [-32602, false],
  [-32601, false],
  [-32000, false],
])("a refusal with %d may be different next time: %s", async (code, retryable) => {
  const { request, end, settled } = start({});
  request.refuse({ code, message: "no" });
  await settled;
  expect(end.error).toMatchObject({ code: "PROTOCOL", rpcCode: code, retryable });
});

describe("the caller's signal", () => {
  test("ends the request with its own reason and is told once", async () => {
    const abort = new AbortController();
    const { cancels, end, settled } = start({ signal: abort.signal });
    const reason = { mine: true };
    abort.abort(reason);
    await settled;
    expect(end.error).toBe(reason);
    expect(cancels).toHaveLength(1);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });

  test.each(["resolve", "reject"] as const)("is left alone after %s", async (how) => {
    const abort = new AbortController();
    const { request, cancels, settled } = start({ signal: abort.signal });
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
    request[how]("over");
    await settled;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    abort.abort();
    expect(cancels).toEqual([]);
  });

  test("is left alone after a timeout", async () => {
    const abort = new AbortController();
    const { settled } = start({ signal: abort.signal });
    vi.advanceTimersByTime(1_000);
    await settled;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});

test("progress without a number is a sign of life and nothing more", async () => {
  const seen: unknown[] = [];
  const { request, end, settled } = start({ onProgress: (progress) => seen.push(progress) });
  vi.advanceTimersByTime(900);
  request.progress({ progress: "much" });
  request.progress({ progress: 1, total: "all", message: 5, extra: true });
  vi.advanceTimersByTime(900);
  await Promise.resolve();
  expect(end).toEqual({});
  expect(seen).toEqual([{ progress: 1 }]);
  request.resolve(undefined);
  await settled;
});

test("a stream of its own is opened once and closed by hand", async () => {
  const { request, settled } = start({});
  request.closeStream();
  const signal = request.openStream();
  expect(request.openStream()).toBe(signal);
  request.closeStream();
  expect(signal.aborted).toBe(true);
  request.resolve(undefined);
  await settled;
});

test("a flood of progress is thinned out; all of it is a sign of life", async () => {
  const seen: number[] = [];
  const { request, settled } = start({ onProgress: ({ progress }) => seen.push(progress) });
  for (let report = 1; report <= 5_000; report += 1) request.progress({ progress: report });
  expect(seen).toHaveLength(1_000);
  for (let report = 1; report <= 1_000; report += 1) {
    vi.advanceTimersByTime(1);
    request.progress({ progress: 5_000 + report });
  }
  expect(seen).toHaveLength(1_100);
  request.resolve({});
  await settled;
});

interface Request {
  readonly id: string;
}

const open = (table: IdTable<Request>): string => {
  const id = table.nextId();
  table.put({ id });
  return id;
};

test("ids are given out in order, and each finds whoever has it", () => {
  const table = new IdTable<Request>("own-");
  expect([open(table), open(table)]).toEqual(["own-1", "own-2"]);
  expect(table.size).toBe(2);
  expect(table.get("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toBeUndefined();
  expect(table.toArray()).toEqual([{ id: "own-1" }]);
});

test("an id that was never given out finds nobody", () => {
  const table = new IdTable<Request>("own-");
  open(table);
  // 65 and 1 share a place; the others are no numbers, or not the text that was given out.
  for (const id of ["own-65", "own-01", "own-", "own-x", "own-1.0", "other", "", "own-1e0", "own--63"])
    expect(table.get(id), id).toBeUndefined();
  expect(table.take("own-65")).toBeUndefined();
  expect(table.size).toBe(1);
});

test("whoever stays keeps the place while thousands come and go", () => {
  const table = new IdTable<Request>("own-");
  const stays = open(table);
  const seen = new Set<string>();
  for (let round = 0; round < 5_000; round += 1) {
    const id = open(table);
    seen.add(id);
    expect(table.take(id)?.id).toBe(id);
  }
  expect(seen.size).toBe(5_000);
  expect(table.take(stays)?.id).toBe(stays);
});

test("it grows with a rush, and nobody is lost on the way up or down", () => {
  const table = new IdTable<Request>("own-");
  const ids = Array.from({ length: 10_000 }, () => open(table));
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(table.get(id)?.id).toBe(id);
  for (const id of ids.reverse()) expect(table.take(id)?.id).toBe(id);
  expect(table.size).toBe(0);
  const late = open(table);
  expect(ids).not.toContain(late);
  expect(table.get(late)?.id).toBe(late);
});
