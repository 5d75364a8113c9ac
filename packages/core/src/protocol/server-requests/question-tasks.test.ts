/** Questions as tasks, over linked in-memory transports: life of a task, limits, and requests of hostile servers. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ChannelRig, delivered, openChannelRig } from "../../../../../test/support/channel-rig.js";
import { MAX_OPEN_TASKS, MAX_TASKS, MAX_TTL_MS } from "./question-tasks.js";
import type { RequestOrigin } from "./sampling-and-roots.js";
import { createServerRequests } from "./server-requests.js";

interface Asked {
  readonly signal: AbortSignal;
  readonly answer: (name: string) => void;
  readonly fail: (error: Error) => void;
}

let rig: ChannelRig;
let asked: Asked[];
let reports: unknown[];

async function open(): Promise<ChannelRig> {
  const opened = await openChannelRig();
  const requests = createServerRequests({
    onElicitation: (_request, { signal }: RequestOrigin) =>
      new Promise((resolve, reject) =>
        asked.push({
          signal,
          answer: (name) => resolve({ action: "accept", content: { name } }),
          fail: reject,
        }),
      ),
    report: (error) => reports.push(error),
  });
  requests.attach(opened.channel, "it");
  return opened;
}

beforeEach(async () => {
  asked = [];
  reports = [];
  rig = await open();
});

afterEach(() => vi.useRealTimers());

let lastId = 0;
type Response = { result?: Record<string, unknown>; error?: { code: number; message: string } };

/** Sends a request as the server and returns the response, if there is one by now. */
async function send(
  method: string,
  params: Record<string, unknown> = {},
  { arrived, reply } = rig,
): Promise<Response | undefined> {
  const id = ++lastId;
  await reply({ id, method, params });
  await delivered();
  return arrived.find((message) => message.id === id) as Response | undefined;
}

const question = (task?: object) => ({
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  ...(task && { task }),
});

const list = async () => (await send("tasks/list"))!.result!["tasks"] as { taskId: string }[];

async function create(task: object = {}): Promise<Record<string, unknown>> {
  return (await send("elicitation/create", question(task)))!.result!["task"] as Record<string, unknown>;
}

const UNKNOWN = { error: { code: -32602, message: expect.stringContaining("Unknown task") } };

test("the server gets a task at once, its status, and the answer with the id of the task", async () => {
  const task = await create({ ttl: 60_000 });
  expect(task).toEqual({
    taskId: expect.any(String),
    status: "working",
    createdAt: expect.any(String),
    lastUpdatedAt: task["createdAt"],
    ttl: 60_000,
    pollInterval: 1_000,
  });
  const { taskId } = task;
  expect((await send("tasks/get", { taskId }))?.result).toEqual(task);
  expect((await send("tasks/list"))?.result).toEqual({ tasks: [task] });
  asked[0]!.answer("Ada");
  await delivered();
  expect((await send("tasks/get", { taskId }))?.result).toMatchObject({ taskId, status: "completed" });
  expect((await send("tasks/result", { taskId }))?.result).toEqual({
    action: "accept",
    content: { name: "Ada" },
    _meta: { "io.modelcontextprotocol/related-task": { taskId } },
  });
  // Nothing of this needs the SDK's client.
  expect(rig.passed).toEqual([]);
});

test("a question without a task is left to the SDK's client", async () => {
  await send("elicitation/create", question());
  expect(rig.passed).toMatchObject([{ method: "elicitation/create" }]);
});

test("a question that no option serves is no task", async () => {
  expect(await send("sampling/createMessage", { messages: [], maxTokens: 1, task: {} })).toBeUndefined();
  expect(rig.passed).toMatchObject([{ method: "sampling/createMessage" }]);
});

test("tasks/result is answered when the task ends", async () => {
  const { taskId } = await create();
  const id = ++lastId;
  await rig.reply({ id, method: "tasks/result", params: { taskId } });
  await delivered();
  expect(rig.arrived.some((message) => message.id === id)).toBe(false);
  asked[0]!.answer("Ada");
  await vi.waitFor(() =>
    expect(rig.arrived.find((message) => message.id === id)).toMatchObject({ result: { action: "accept" } }),
  );
});

test("a withdrawn tasks/result gets no answer, and the question stays open", async () => {
  const { taskId } = await create();
  const id = ++lastId;
  await rig.reply({ id, method: "tasks/result", params: { taskId } });
  await rig.reply({ method: "notifications/cancelled", params: { requestId: id } });
  await delivered();
  expect(asked[0]!.signal.aborted).toBe(false);
  asked[0]!.answer("Ada");
  await delivered();
  expect((await send("tasks/get", { taskId }))?.result).toMatchObject({ status: "completed" });
  expect(rig.arrived.some((message) => message.id === id)).toBe(false);
});

test("a callback that fails makes the task fail, without details", async () => {
  const { taskId } = await create();
  asked[0]!.fail(new Error("the dialog broke"));
  await delivered();
  expect((await send("tasks/get", { taskId }))?.result).toMatchObject({ status: "failed" });
  expect(await send("tasks/result", { taskId })).toMatchObject({ error: { code: -32603 } });
  expect(JSON.stringify(rig.arrived)).not.toContain("dialog");
  expect(reports).toMatchObject([{ code: "REFUSED" }]);
});

test("tasks/cancel withdraws the question; a late answer changes nothing", async () => {
  const { taskId } = await create();
  expect((await send("tasks/cancel", { taskId }))?.result).toMatchObject({ taskId, status: "cancelled" });
  expect(asked[0]!.signal.aborted).toBe(true);
  asked[0]!.answer("Ada");
  await delivered();
  expect((await send("tasks/get", { taskId }))?.result).toMatchObject({ status: "cancelled" });
  expect(await send("tasks/result", { taskId })).toMatchObject({ error: { code: -32603 } });
  expect(await send("tasks/cancel", { taskId })).toMatchObject({ error: { code: -32602 } });
  expect(reports).toEqual([]);
});

test.each([[{}], [{ taskId: 7 }], [{ taskId: "nope" }], [{ taskId: "__proto__" }]])(
  "unknown tasks are refused: %j",
  async (params) => {
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
      expect(await send(method, params)).toMatchObject(UNKNOWN);
    expect(await send("tasks/list", { cursor: "x" })).toMatchObject({ error: { code: -32602 } });
  },
);

test("a task of another connection is unknown", async () => {
  const { taskId } = await create();
  const other = await open();
  expect(await send("tasks/get", { taskId }, other)).toMatchObject(UNKNOWN);
  expect(await send("tasks/cancel", { taskId }, other)).toMatchObject(UNKNOWN);
  expect((await send("tasks/list", {}, other))?.result).toEqual({ tasks: [] });
  expect(asked[0]!.signal.aborted).toBe(false);
});

test("open tasks are limited, and the answers of the oldest are dropped first", async () => {
  const first = await create();
  for (let count = 1; count < MAX_OPEN_TASKS; count += 1) await create();
  expect(await send("elicitation/create", question({}))).toMatchObject({ error: { code: -32603 } });
  for (const { taskId } of await list()) await send("tasks/cancel", { taskId });
  for (let count = 0; count < MAX_TASKS; count += 1) {
    const { taskId } = await create();
    await send("tasks/cancel", { taskId });
  }
  expect(await list()).toHaveLength(MAX_TASKS);
  expect(await send("tasks/get", first)).toMatchObject(UNKNOWN);
  // Questions run one at a time; the first one never ended.
  expect(asked).toHaveLength(1);
});

test("requests for results are limited", async () => {
  const { taskId } = await create();
  for (let count = 0; count < 64; count += 1) expect(await send("tasks/result", { taskId })).toBeUndefined();
  expect(await send("tasks/result", { taskId })).toMatchObject({
    error: { code: -32603, message: "Too many requests at once" },
  });
});

test("a task is gone after its time, and its question with it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { taskId } = await create({ ttl: 5_000 });
  expect(await create({ ttl: 1e12 })).toMatchObject({ ttl: MAX_TTL_MS });
  expect(await create({ ttl: null })).toMatchObject({ ttl: MAX_TTL_MS });
  expect(await create({ ttl: "long" })).toMatchObject({ ttl: MAX_TTL_MS });
  vi.advanceTimersByTime(5_000);
  expect(asked[0]!.signal.aborted).toBe(true);
  expect(await send("tasks/get", { taskId })).toMatchObject(UNKNOWN);
  expect(await list()).toHaveLength(3);
});

test("tasks end with the connection", async () => {
  await create();
  await rig.channel.close();
  await delivered();
  expect(asked[0]!.signal.aborted).toBe(true);
  expect(reports).toEqual([]);
});

test("modern servers have no such tasks", async () => {
  rig.channel.envelope = {};
  await send("tasks/list");
  expect(rig.passed).toMatchObject([{ method: "tasks/list" }]);
});
