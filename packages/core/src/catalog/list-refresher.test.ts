/** How often lists are requested while a server keeps reporting changes. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ListName } from "../protocol/change-watch.js";
import { ListRefresher } from "./list-refresher.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A refresher whose reads take `tookMs`, and a record of its reads. */
function setup({ tookMs = 0, failing = (): ListName[] => [] } = {}) {
  const readings: { at: number; lists: readonly ListName[]; reasons: readonly string[]; version: number }[] =
    [];
  const startedAt = performance.now();
  const server = { version: 0 };
  const known = { version: 0, most: 0, underWay: 0 };
  const refresher = new ListRefresher(async (due) => {
    const { version } = server;
    const at = performance.now() - startedAt;
    readings.push({ at, lists: [...due.keys()], reasons: [...due.values()], version });
    known.underWay += 1;
    known.most = Math.max(known.most, known.underWay);
    await new Promise((resolve) => setTimeout(resolve, tookMs));
    known.underWay -= 1;
    const failed = failing();
    if (failed.length === 0) known.version = version;
    return failed;
  });
  /** Changes every `everyMs`, for `forMs`. */
  const storm = async (everyMs: number, forMs: number) => {
    for (let passed = 0; passed < forMs; passed += everyMs) {
      server.version += 1;
      refresher.changed("tools");
      await vi.advanceTimersByTimeAsync(everyMs);
    }
  };
  return { refresher, readings, server, known, storm };
}

test("reads a single change after 50 ms, and a later one too", async () => {
  const { refresher, readings } = setup();
  for (let change = 0; change < 3; change += 1) {
    refresher.changed("prompts");
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(readings.map(({ at }) => at)).toEqual([50, 10_050, 20_050]);
});

test("a check of a list does not delay the change that follows it", async () => {
  const { refresher, readings } = setup();
  refresher.unsure("tools");
  await vi.advanceTimersByTimeAsync(60);
  refresher.changed("tools");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(readings.map(({ at }) => at)).toEqual([50, 110]);
});

test("checks that follow each other have growing pauses, and a change does not wait for them", async () => {
  const { refresher, readings } = setup();
  for (let passed = 0; passed < 20_000; passed += 200) {
    refresher.unsure("tools");
    await vi.advanceTimersByTimeAsync(200);
  }
  expect(readings.length).toBeLessThan(10);
  const last = readings.length;
  refresher.changed("tools");
  await vi.advanceTimersByTimeAsync(60);
  expect(readings).toHaveLength(last + 1);
  await vi.advanceTimersByTimeAsync(10_000);
});

test("reads simultaneous changes together, each list once", async () => {
  const { refresher, readings } = setup();
  for (const list of ["tools", "prompts", "tools", "resources", "tools"] as const) refresher.changed(list);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(readings.map(({ lists }) => lists)).toEqual([["tools", "prompts", "resources"]]);
});

describe("a list that may have changed", () => {
  test("is read with the others", async () => {
    const { refresher, readings } = setup();
    refresher.unsure("tools");
    refresher.unsure("prompts");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(readings.map(({ lists }) => lists)).toEqual([["tools", "prompts"]]);
  });

  test("counts as changed if the server reports a change as well", async () => {
    const { refresher, readings } = setup();
    refresher.unsure("tools");
    refresher.changed("tools");
    refresher.changed("prompts");
    refresher.unsure("prompts");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(readings).toMatchObject([{ lists: ["tools", "prompts"], reasons: ["changed", "changed"] }]);
  });

  test("is read again after a failure, still without being reported", async () => {
    let left = 1;
    const { refresher, readings } = setup({ failing: () => (left-- > 0 ? ["tools"] : []) });
    refresher.unsure("tools");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(readings).toMatchObject([{ reasons: ["unsure"] }, { reasons: ["unsure"] }]);
  });
});

describe("continuous changes", () => {
  test("for five seconds cause a few reads, the last one after the last change", async () => {
    const { readings, server, known, storm } = setup();
    await storm(2, 5_000);
    expect(readings.length).toBeLessThanOrEqual(6);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(known.version).toBe(server.version);
    expect(readings.length).toBeLessThanOrEqual(7);
  });

  test("for ten minutes cause one read every five seconds, without longer pauses", async () => {
    const { readings, storm } = setup();
    await storm(100, 600_000);
    expect(readings.length).toBeLessThan(600 / 5 + 8);
    const gaps = readings.slice(1).map(({ at }, index) => at - readings[index]!.at);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5_050);
    await vi.advanceTimersByTimeAsync(10_000);
  });

  test("once a second are limited as well", async () => {
    const { readings, storm } = setup();
    await storm(1_000, 600_000);
    expect(readings.length).toBeLessThan(600 / 5 + 8);
    await vi.advanceTimersByTimeAsync(10_000);
  });

  test("of slow lists cause one read at a time, with pauses in between", async () => {
    const { readings, known, server, storm } = setup({ tookMs: 700 });
    await storm(5, 20_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(known.most).toBe(1);
    expect(known.version).toBe(server.version);
    for (const [index, { at }] of readings.slice(1).entries())
      expect(at - readings[index]!.at).toBeGreaterThanOrEqual(700 + 50);
  });

  test("no longer delay a single change afterwards", async () => {
    const { refresher, readings, storm } = setup();
    await storm(2, 5_000);
    await vi.advanceTimersByTimeAsync(10_000);
    const before = readings.length;
    refresher.changed("tools");
    await vi.advanceTimersByTimeAsync(60);
    expect(readings.length).toBe(before + 1);
  });
});

describe("a list that cannot be read", () => {
  test("is read again until it succeeds", async () => {
    let left = 3;
    const { refresher, readings, known, server } = setup({ failing: () => (left-- > 0 ? ["tools"] : []) });
    server.version = 7;
    refresher.changed("tools");
    refresher.changed("prompts");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(readings.slice(1).map(({ lists }) => lists)).toEqual([["tools"], ["tools"], ["tools"]]);
    expect(known.version).toBe(7);
  });

  test("is not read again after six failures, until it changes", async () => {
    const { refresher, readings } = setup({ failing: () => ["tools"] });
    refresher.changed("tools");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(readings).toHaveLength(6);
    refresher.changed("tools");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(readings).toHaveLength(12);
  });
});

test("close() stops reads and clears the timer", async () => {
  const { refresher, readings } = setup();
  refresher.changed("tools");
  refresher.close();
  refresher.changed("tools");
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(readings).toEqual([]);
});
