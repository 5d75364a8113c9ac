/** Tasks of passed-on calls: Toolport follows none of them, and passes their requests on. */

import { sendRequest } from "@toolport/core/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { startTaskServer, textResult } from "../../../test/fixtures/servers/task-server.js";
import { callFor, createTestCaller, createTestPort } from "./hooks-rig.js";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

describe.each(["legacy", "modern"] as const)("%s", (era) => {
  async function open() {
    const server = await startTaskServer(era);
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { server, port: createTestPort({ up: server.entry }) };
  }
  const asking = () =>
    createTestCaller(era === "modern" ? { capabilities: TASKS } : { task: { ttl: 5_000, own: true } });

  test.each(["work", "typed"])("a created task is returned unfollowed: %s", async (tool) => {
    const { server, port } = await open();
    const caller = asking();
    await callFor(port, { tool, args: { text: "x" } }, caller);
    const { id } = server.made[0]!;
    expect(caller.raw).toMatchObject(
      era === "modern" ? { resultType: "task", taskId: id } : { task: { taskId: id, status: "working" } },
    );
    const { params } = server.asked.find(({ method }) => method === "tools/call")!;
    expect(params["task"]).toEqual(caller.task);
    expect(server.count("tasks/get")).toBe(0);
    expect(server.count("tasks/result")).toBe(0);
  });

  test("requests about a task pass with their fields", async () => {
    const { server, port } = await open();
    await callFor(port, { tool: "work" }, asking());
    const [task] = server.made;
    const send = (method: string, more = {}) =>
      sendRequest(port, { server: "up", method, params: { taskId: task!.id, ...more } }, { hooks: asking() });
    expect(await send("tasks/get")).toMatchObject({ taskId: task!.id, status: "working" });
    if (era === "modern") {
      await send("tasks/update", { inputResponses: { a: 1 } });
      expect(task!.inputs).toEqual([{ a: 1 }]);
    } else {
      Object.assign(task!, { status: "completed", result: textResult("done") });
      expect(await send("tasks/result")).toMatchObject(textResult("done"));
      task!.status = "working";
    }
    await send("tasks/cancel");
    expect(task!.status).toBe("cancelled");
    const unknown = { server: "up", method: "tasks/get", params: { taskId: "?" } };
    await expect(sendRequest(port, unknown, { hooks: asking() })).rejects.toMatchObject({ rpcCode: -32602 });
  });

  test("does not declare that the client answers questions as tasks: the gateway callers no requests about them", async () => {
    const { server, port } = await open();
    const tasks = { requests: { elicitation: { create: {} } } };
    const capabilities = { elicitation: { form: {} }, tasks, ...(era === "modern" && TASKS) };
    const caller = createTestCaller({
      ...asking(),
      capabilities,
      capabilityKey: JSON.stringify(capabilities),
    });
    await callFor(port, { tool: "work" }, caller);
    const sent = server.asked.map(({ params }) => JSON.stringify(params));
    expect(sent.some((params) => params.includes('"elicitation"'))).toBe(true);
    expect(sent.filter((params) => params.includes('"requests"'))).toEqual([]);
  });

  test("declares no tasks that the client did not declare", async () => {
    const { server, port } = await open();
    const calling = callFor(port, { tool: "work" }, createTestCaller());
    await expect(calling).rejects.toMatchObject({ rpcCode: era === "modern" ? -32021 : -32601 });
    expect(server.made).toEqual([]);
  });
});
