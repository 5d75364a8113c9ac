/** Task handles: a task can be polled, fetched and cancelled, and outlives the process that started it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createToolport, memoryStore, type ToolportOptions } from "toolport";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { startTaskServer, type TaskServer, textResult } from "../fixtures/servers/task-server.js";
import { failure } from "../support/failure.js";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";

let before: LeakSnapshot;
beforeEach(() => {
  before = takeLeakSnapshot();
});
afterEach(() => waitForNoLeaks(before));

const source = useServer(transpileEverything);

const open = (server: TaskServer, options: ToolportOptions = {}) =>
  createToolport({ mcpServers: { jobs: server.entry }, ...options });

describe.each(["legacy", "modern"] as const)("handles on the %s wire", (wire) => {
  test("the result lists the repairs of the arguments", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server);
    const task = await toolport.callTool("jobs__maybe", { text: 7 }, { task: true });
    expect(server.asked.find(({ method }) => method === "tools/call")?.params["arguments"]).toEqual({
      text: "7",
    });
    Object.assign(server.made[0]!, { status: "completed", result: textResult("done") });
    expect(await task.result()).toMatchObject({
      text: "done",
      repaired: [{ path: "$.text", change: "number to text" }],
    });
  });

  test("a handle: status, result, cancel, JSON", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server);
    const task = await toolport.callTool("jobs__maybe", { text: "x" }, { task: { ttlMs: 5_000 } });
    if (wire === "legacy")
      expect(server.asked.find(({ method }) => method === "tools/call")?.params["task"]).toEqual({
        ttl: 5_000,
      });
    expect(JSON.parse(JSON.stringify(task))).toEqual({
      id: server.made[0]!.id,
      server: "jobs",
      tool: "jobs__maybe",
      createdAt: "2026-08-01T10:00:00Z",
      ttlMs: 60_000,
    });
    expect(await task.status()).toMatchObject({ status: "working", pollIntervalMs: 100, ttlMs: 60_000 });
    // Aborting the wait does not cancel the task.
    expect(await failure(task.result({ maxTimeoutMs: 250 }))).toMatchObject({
      code: "TIMEOUT",
      phase: "task",
    });
    const caller = new AbortController();
    const waiting = failure(task.result({ signal: caller.signal }));
    caller.abort(new Error("later"));
    expect((await waiting).message).toBe("later");
    expect(server.made[0]!.status).toBe("working");
    expect((await toolport.tasks()).map(({ id }) => id)).toEqual([task.id]);
    Object.assign(server.made[0]!, { status: "completed", result: textResult("done") });
    expect(await task.result()).toMatchObject({ text: "done", server: "jobs" });
    expect(await task.result()).toMatchObject({ text: "done" });
    expect(await task.status()).toEqual({ status: "completed" });
    await waitFor(async () => (await toolport.task(task.id)) === undefined);

    const other = await toolport.callTool("jobs__work", {}, { task: true });
    await other.cancel();
    expect(server.made[1]!.status).toBe("cancelled");
    expect(await failure(other.result())).toMatchObject({ code: "TASK_CANCELLED" });
    // The task has ended: cancel does nothing.
    await other.cancel();
    expect(await toolport.tasks()).toEqual([]);
  });

  test("closing the port does not end the task; another port with the same store gets its result", async () => {
    await using server = await startTaskServer(wire);
    const store = memoryStore();
    const first = open(server, { store });
    const call = failure(first.callTool("jobs__work"));
    await waitFor(() => server.made[0]?.polls);
    await first.close();
    expect(await call).toMatchObject({ code: "CLOSED" });
    expect(server.made[0]!.status).toBe("working");
    // A task belongs to the server under its name.
    await using renamed = createToolport({ mcpServers: { renamed: server.entry }, store });
    expect(await renamed.tasks()).toEqual([]);
    await using second = open(server, { store });
    const [task] = await second.tasks();
    expect(task).toMatchObject({ server: "jobs", id: server.made[0]!.id });
    // Another user cannot see it.
    expect(await second.as("other-user").tasks()).toEqual([]);
    Object.assign(server.made[0]!, { status: "completed", result: textResult("done") });
    expect((await task!.result()).text).toBe("done");
    await waitFor(async () => (await store.list("tasks/")).length === 0);
    await store.close();
  });

  test("the saved record shows neither the arguments nor, in its key, the id", async () => {
    await using server = await startTaskServer(wire);
    const store = memoryStore();
    await using toolport = open(server, { store });
    const task = await toolport.callTool("jobs__work", { text: "between us" }, { task: true });
    const [key] = await store.list("tasks/");
    expect(key).not.toContain(task.id);
    expect(JSON.stringify(await store.get(key!))).not.toContain("between us");
  });

  test("a host that is killed: another process with the same store fetches the result", async () => {
    await using server = await startTaskServer(wire);
    const folder = mkdtempSync(join(tmpdir(), "toolport-tasks-"));
    const host = (way: string, id = "") =>
      spawn(
        process.execPath,
        [
          "--no-warnings",
          fileURLToPath(new URL("../fixtures/hosts/task-host.mjs", import.meta.url)),
          `${pathToFileURL(source.folder)}/`,
          way,
          join(folder, "state.db"),
          JSON.stringify(server.entry),
          id,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
    try {
      // One with a handle, one during a plain call.
      for (const way of ["start", "call"]) {
        const child = host(way);
        const ended = once(child, "exit");
        await waitFor(() => server.made.length === (way === "start" ? 1 : 2));
        if (way === "start") await once(createInterface({ input: child.stdout }), "line");
        else await waitFor(() => server.made[1]!.polls > 0);
        child.kill("SIGKILL");
        await ended;
      }
      for (const [index, task] of server.made.entries()) {
        Object.assign(task, { status: "completed", result: textResult(`result ${index}`) });
        const child = host("fetch", task.id);
        const [[line], [code]] = await Promise.all([
          once(createInterface({ input: child.stdout }), "line"),
          once(child, "exit"),
        ]);
        expect(code).toBe(0);
        const answer = JSON.parse(line as string);
        expect(answer).toMatchObject({ status: "completed", text: `result ${index}`, left: 1 - index });
        expect(answer.tasks[0]).toMatchObject({ server: "jobs", tool: "jobs__work" });
      }
      expect(server.count("tools/call")).toBe(2);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
