/** Timeouts, progress and abort of one request with fake time, and the table of open requests. */
import { getEventListeners } from "node:events";
import type { ToolCallError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DeadlineClock, IdTable, PendingRequest, type RequestLimits } from "./pending-request.js";

let clock: DeadlineClock;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  clock = new DeadlineClock();
});
afterEach(() => {
  expect(clock.keepsAlive).toBe(false);
  clock.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A request whose outcome can be read at any time. */
function start(limits: Partial<RequestLimits>, { isUnsent = false } = {}) {
  const cancels: string[] = [];
  const seen = { receivedAt: Number.NEGATIVE_INFINITY, silences: 0 };
  const request = new PendingRequest({
    id: "one",
    method: "tools/call",
    limits: { timeoutMs: 1_000, maxTimeoutMs: 10_000, ...limits },
    context: {
      server: "it",
      clock,
      lastActivityAt: () => 0,
      redactError: (error) => error,
      redact: (text) => text,
      get lastReceivedAt() {
        return seen.receivedAt;
      },
      cancel: (_id, why) => {
        cancels.push(why);
        return isUnsent;
      },
      onsilence: () => {
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

describe("the idle timeout", () => {
  test("rejects the request, cancels it at the server and names the timeout", async () => {
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

  test("restarts with every progress notification, up to the total timeout", async () => {
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

  test("reports silence only if no message arrived, and never for a quiet request", async () => {
    const silent = start({});
    const answered = start({});
    const quiet = start({ quiet: true });
    vi.advanceTimersByTime(1);
    answered.seen.receivedAt = performance.now();
    vi.advanceTimersByTime(999);
    await Promise.all([silent.settled, answered.settled, quiet.settled]);
    expect([silent, answered, quiet].map(({ seen }) => seen.silences)).toEqual([1, 0, 0]);
  });

  test("reports silence that began after a message arrived", async () => {
    const { request, seen, settled } = start({});
    vi.advanceTimersByTime(900);
    request.progress({ progress: 1 });
    seen.receivedAt = performance.now();
    vi.advanceTimersByTime(1_000);
    await settled;
    expect(seen.silences).toBe(1);
  });

  test("reports silence for a request that could not be sent", async () => {
    const { end, seen, settled } = start({}, { isUnsent: true });
    vi.advanceTimersByTime(1_000);
    await settled;
    expect(end.error).toMatchObject({ code: "TIMEOUT", phase: "queue", outcome: "unsent" });
    expect(seen.silences).toBe(1);
  });

  test.each([
    ["TimeoutError", 1],
    ["AbortError", 0],
  ])("of the caller's own signal (%s) reports silence %d times", async (name, silences) => {
    const caller = new AbortController();
    const { seen, settled } = start({ signal: caller.signal });
    vi.advanceTimersByTime(300);
    caller.abort(new DOMException("Enough", name));
    await settled;
    expect(seen.silences).toBe(silences);
  });

  test("is extended once by the time in which the event loop was blocked", () => {
    const { request } = start({});
    vi.advanceTimersByTime(900);
    expect(request.extend(300)).toBe(true);
    expect(request.dueAt() - performance.now()).toBe(300);
    expect(request.extend(300)).toBe(false);
    request.settle({ result: {} });
  });

  test("of 0 ms rejects in a later task, not in the constructor", async () => {
    const { cancels, end, settled } = start({ timeoutMs: 0 });
    expect(cancels).toEqual([]);
    vi.advanceTimersByTime(1);
    await settled;
    expect(end.error).toMatchObject({ code: "TIMEOUT" });
  });

  test("of Infinity never fires, but keeps the process alive until the response", async () => {
    const { request, end, settled } = start({
      timeoutMs: Number.POSITIVE_INFINITY,
      maxTimeoutMs: Number.POSITIVE_INFINITY,
    });
    expect(clock.keepsAlive).toBe(true);
    vi.advanceTimersByTime(100 * 86_400_000);
    expect(clock.keepsAlive).toBe(true);
    request.settle({ result: "at last" });
    await settled;
    expect(end.value).toBe("at last");
  });

  test("beyond the range of timers is checked in steps", async () => {
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

test("a response removes the request from the clock", async () => {
  const { request, cancels, end, settled } = start({});
  request.settle({ result: { ok: true } });
  await settled;
  vi.advanceTimersByTime(60_000);
  expect({ end, cancels }).toEqual({ end: { value: { ok: true } }, cancels: [] });
});

test.each([
  [-32603, true],
  [-32602, false],
  [-32601, false],
  [-32000, false],
])("error code %d: retryable is %s", async (code, retryable) => {
  const { request, end, settled } = start({});
  request.rejectWithRpcError({ code, message: "no" });
  await settled;
  expect(end.error).toMatchObject({ code: "PROTOCOL", rpcCode: code, retryable });
});

describe("the caller's signal", () => {
  test("rejects the request with its own reason and cancels once", async () => {
    const abort = new AbortController();
    const { cancels, end, settled } = start({ signal: abort.signal });
    const reason = { mine: true };
    abort.abort(reason);
    await settled;
    expect(end.error).toBe(reason);
    expect(cancels).toHaveLength(1);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });

  test.each(["resolve", "reject"] as const)("has no listener left after %s", async (how) => {
    const abort = new AbortController();
    const { request, cancels, settled } = start({ signal: abort.signal });
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
    if (how === "resolve") request.settle({ result: "over" });
    else request.reject("over");
    await settled;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    abort.abort();
    expect(cancels).toEqual([]);
  });

  test("has no listener left after a timeout", async () => {
    const abort = new AbortController();
    const { settled } = start({ signal: abort.signal });
    vi.advanceTimersByTime(1_000);
    await settled;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});

test("progress without a number restarts the timeout but is not reported", async () => {
  const seen: unknown[] = [];
  const { request, end, settled } = start({ onProgress: (progress) => seen.push(progress) });
  vi.advanceTimersByTime(900);
  request.progress({ progress: "much" });
  request.progress({ progress: 1, total: "all", message: 5, extra: true });
  vi.advanceTimersByTime(900);
  await Promise.resolve();
  expect(end).toEqual({});
  expect(seen).toEqual([{ progress: 1 }]);
  request.settle({ result: undefined });
  await settled;
});

test("openStream() returns one signal, and closeStream() aborts it", async () => {
  const { request, settled } = start({});
  request.closeStream();
  const signal = request.openStream();
  expect(request.openStream()).toBe(signal);
  request.closeStream();
  expect(signal.aborted).toBe(true);
  request.settle({ result: undefined });
  await settled;
});

test("a flood of progress is throttled, and all of it restarts the timeout", async () => {
  const seen: number[] = [];
  const { request, settled } = start({ onProgress: ({ progress }) => seen.push(progress) });
  for (let report = 1; report <= 5_000; report += 1) request.progress({ progress: report });
  expect(seen).toHaveLength(1_000);
  for (let report = 1; report <= 1_000; report += 1) {
    vi.advanceTimersByTime(1);
    request.progress({ progress: 5_000 + report });
  }
  expect(seen).toHaveLength(1_100);
  request.settle({ result: {} });
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

test("IdTable: ids ascend, and each finds its member", () => {
  const table = new IdTable<Request>("own-");
  expect([open(table), open(table)]).toEqual(["own-1", "own-2"]);
  expect(table.size).toBe(2);
  expect(table.get("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toEqual({ id: "own-2" });
  expect(table.take("own-2")).toBeUndefined();
  expect(table.toArray()).toEqual([{ id: "own-1" }]);
});

test("IdTable: an unknown id finds no member", () => {
  const table = new IdTable<Request>("own-");
  open(table);
  // 65 and 1 share a slot; the others are not numbers, or not the exact text of an id.
  for (const id of ["own-65", "own-01", "own-", "own-x", "own-1.0", "other", "", "own-1e0", "own--63"])
    expect(table.get(id), id).toBeUndefined();
  expect(table.take("own-65")).toBeUndefined();
  expect(table.size).toBe(1);
});

test("IdTable: a long-running member keeps its slot under high churn", () => {
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

test("IdTable: no member is lost while the table grows and shrinks", () => {
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
