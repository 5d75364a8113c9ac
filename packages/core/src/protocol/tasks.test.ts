/** Reading of tasks from both wires. */
import { expect, test } from "vitest";
import { isFinal, readCreatedTask, readTask } from "./tasks.js";

const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:01Z" };
const status = { createdAt: times.createdAt, updatedAt: times.lastUpdatedAt };

test("both wires yield the same task", () => {
  const legacy = { taskId: "1", status: "working", ...times, ttl: 5, pollInterval: 7 };
  const modern = { taskId: "1", status: "working", ...times, ttlMs: 5, pollIntervalMs: 7 };
  const read = { taskId: "1", status: { status: "working", ...status, ttlMs: 5, pollIntervalMs: 7 } };
  expect(readTask(legacy)).toMatchObject(read);
  expect(readTask(modern)).toMatchObject(read);
  expect(readCreatedTask({ task: legacy })).toMatchObject(read);
  expect(readCreatedTask({ resultType: "task", ...modern })).toMatchObject(read);
  expect(readTask({ ...legacy, ttl: null })?.status.ttlMs).toBeNull();
  expect(readTask({ ...modern, ttlMs: null })?.status.ttlMs).toBeNull();
});

test("a result is not a task, even if it has a field `task`", () => {
  const task = { taskId: "1", status: "working" };
  expect(readCreatedTask({ content: [], task })).toBeUndefined();
  expect(readCreatedTask({ content: [] })).toBeUndefined();
  expect(readCreatedTask({ ...task })).toBeUndefined();
});

test("malformed fields are ignored; without id or status it is not a task", () => {
  for (const raw of [null, [], "x", {}, { taskId: "", status: "working" }, { taskId: "1", status: "lost" }])
    expect(readTask(raw)).toBeUndefined();
  const odd = readTask({
    taskId: "1",
    status: "input_required",
    statusMessage: 5,
    ttlMs: -1,
    pollIntervalMs: "soon",
    inputRequests: { good: { method: "roots/list" }, bad: 7 },
    error: { code: "x" },
  });
  expect(odd?.status).toEqual({ status: "input_required" });
  expect(odd?.inputRequests).toEqual({ good: { method: "roots/list" } });
  expect(odd?.error).toEqual({ code: -32603, message: "no reason given" });
});

test("three states are final", () => {
  const names = ["working", "input_required", "completed", "failed", "cancelled"] as const;
  expect(names.filter(isFinal)).toEqual(["completed", "failed", "cancelled"]);
});
