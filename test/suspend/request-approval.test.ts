/** `requestApproval` asks and sends nothing, and `create: false` finds a call but never begins one. */
import { createToolport, isSuspended, memoryStore, type Store } from "toolport";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";
import { createBookingServer } from "./booking-server.js";

const NOTE = "travel__note";
const OSLO = { to: "Oslo" };
const key = (name: string, create = true) => ({ suspend: { key: name, create } });

describe("requestApproval", () => {
  test("saves a call that a person must approve; the same key finds it again", async () => {
    await using scene = openBooking({ approve: { when: "always" } });
    const { toolport, seen } = scene;
    const waiting = await toolport.requestApproval(NOTE, OSLO, key("a"));
    expect(waiting).toMatchObject({ suspended: true, reason: "approval", args: OSLO });
    expect(await toolport.requestApproval(NOTE, OSLO, key("a"))).toEqual(waiting);
    expect(await toolport.callTool(NOTE, OSLO, key("a", false))).toEqual(waiting);
    expect(seen.requests).toBe(0);
    expect(await toolport.resume(waiting!.token, { approve: true })).toMatchObject({ text: "noted Oslo" });
    expect(await toolport.callTool(NOTE, OSLO, key("a", false))).toMatchObject({ text: "noted Oslo" });
    expect(await toolport.requestApproval(NOTE, OSLO, key("a"))).toBeUndefined();
    expect(seen.requests).toBe(1);
  });

  test("sends and saves nothing when no person has to decide", async () => {
    for (const approve of [undefined, () => true, () => false]) {
      await using scene = openBooking(approve && { approve });
      const { toolport, seen, store } = scene;
      for (const args of [OSLO, {}])
        expect(await toolport.requestApproval(NOTE, args, key("a"))).toBeUndefined();
      expect(seen.requests).toBe(0);
      expect(await store.list("suspended/")).toEqual([]);
    }
  });

  test("several at once save one call", async () => {
    await using scene = openBooking({ approve: { when: "always" } });
    const ask = () => scene.toolport.requestApproval(NOTE, OSLO, key("a"));
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, ask));
    expect(first).toMatchObject({ reason: "approval" });
    expect(others).toEqual(others.map(() => first));
    expect(await scene.toolport.suspended()).toEqual([first]);
  });

  test("an interceptor sees no result, so that it can cache none", async () => {
    const results: unknown[] = [];
    await using scene = openBooking({
      approve: () => true,
      interceptors: [(next) => async (call) => results.push(await next(call)) as never],
    });
    expect(await scene.toolport.requestApproval(NOTE, OSLO)).toBeUndefined();
    expect(results).toEqual([]);
  });
});

describe("create: false", () => {
  test("throws SUSPENSION_UNKNOWN instead of beginning a call", async () => {
    await using scene = openBooking();
    const { toolport, seen, store } = scene;
    expect(await failure(toolport.callTool(NOTE, OSLO, key("a", false)))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
      outcome: "unsent",
    });
    expect(seen.requests).toBe(0);
    expect(await store.list("suspended/")).toEqual([]);
    await toolport.callTool(NOTE, OSLO, key("a"));
    const other = toolport.as("bob").callTool(NOTE, OSLO, key("a", false));
    expect(await failure(other)).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
    const changed = toolport.callTool(NOTE, { to: "Rome" }, key("a", false));
    expect(await failure(changed)).toMatchObject({ code: "KEY_REUSED" });
    expect(isSuspended(await toolport.callTool(NOTE, OSLO, key("a", false)))).toBe(false);
    expect(seen.requests).toBe(1);
  });

  test("needs a key", async () => {
    await using scene = openBooking();
    const error = failure(scene.toolport.callTool(NOTE, OSLO, { suspend: { create: false } }));
    expect(await error).toMatchObject({ code: "INVALID_ARGUMENTS", outcome: "unsent" });
  });
});

test("a store that fails while the call is saved leaves the key free: nothing was sent", async () => {
  const memory = memoryStore();
  let isFailing = true;
  const store: Store = {
    ...memory,
    async put(key, value, options) {
      // The pointer from the token to the record.
      if (isFailing && key.startsWith("suspended/") && !key.includes("/key-"))
        throw new Error("no space left");
      return memory.put(key, value, options);
    },
  };
  const { server, seen } = createBookingServer();
  const toolport = createToolport({
    mcpServers: { travel: server.memory() },
    store,
    approve: { when: "always" },
  });
  const request = () =>
    toolport.requestApproval("travel__note", { to: "Oslo" }, { suspend: { key: "order 3" } });
  await expect(request()).rejects.toThrow("no space left");
  isFailing = false;
  expect(await request()).toMatchObject({ reason: "approval" });
  expect(seen.requests).toBe(0);
  await toolport.close();
  await server.close();
});
