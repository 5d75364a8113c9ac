/** A call waits for a person and continues later. */
import { isSuspended, type Suspended, type ToolportOptions } from "toolport";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";

function open(options: ToolportOptions = {}) {
  const scene = openBooking(options);
  return {
    ...scene,
    async suspend(tool = "book", args = { to: "Oslo" }): Promise<Suspended> {
      const out = await scene.toolport.callTool(`travel__${tool}`, args, { suspend: true });
      if (!isSuspended(out)) throw new Error(`not suspended: ${out.text}`);
      return out;
    },
  };
}

const seat = (content: Record<string, string> = { seat: "12A" }) => ({
  answers: { seat: { action: "accept" as const, content } },
});

describe("input", () => {
  test("returns a token and the question, then the result, in two requests", async () => {
    await using scene = open();
    const out = await scene.suspend();
    expect(out).toEqual({
      suspended: true,
      token: expect.stringMatching(/^tpc1\.[\w-]{43}$/),
      reason: "input",
      requests: { seat: expect.objectContaining({ mode: "form", message: "Which seat?" }) },
      server: "travel",
      tool: "travel__book",
      args: { to: "Oslo" },
      round: 1,
      expiresAt: expect.any(String),
    });
    expect(Date.parse(out.expiresAt) - Date.now()).toBeGreaterThan(6.9 * 24 * 3_600_000);
    expect(await scene.toolport.suspended()).toEqual([out]);
    const result = await scene.toolport.resume(out.token, seat());
    expect(result).toMatchObject({ text: "booked Oslo, seat 12A, meal none", isError: false });
    expect(scene.seen).toEqual({ requests: 2, booked: [{ to: "Oslo", seat: "12A", meal: "none" }] });
    expect(await scene.toolport.suspended()).toEqual([]);
    expect(await scene.store.list("suspended/")).toEqual([]);
  });

  test("two rounds cost three requests, and each round has its own token", async () => {
    await using scene = open();
    const first = await scene.suspend("tour");
    const second = (await scene.toolport.resume(first.token, seat())) as Suspended;
    expect(second).toMatchObject({ suspended: true, reason: "input", round: 2 });
    expect(second.token).not.toBe(first.token);
    expect(await failure(scene.toolport.resume(first.token, seat()))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
    const pay = { answers: { pay: { action: "accept" as const, content: { pay: true } } } };
    expect(await scene.toolport.resume(second.token, pay)).toMatchObject({ text: "toured Oslo" });
    expect(scene.seen).toMatchObject({ requests: 3, booked: [{ to: "Oslo" }] });
  });

  test("a call that asks nothing returns its result", async () => {
    await using scene = open();
    expect(await scene.toolport.callTool("travel__note", { to: "Oslo" }, { suspend: true })).toMatchObject({
      text: "noted Oslo",
    });
  });
});

describe("approval", () => {
  test("approve: { when } suspends the call before anything is sent; the approval is valid for all rounds", async () => {
    await using scene = open({ approve: { when: "always" } });
    const first = await scene.suspend();
    expect(first).toMatchObject({ reason: "approval", requests: {}, args: { to: "Oslo" }, round: 0 });
    expect(scene.seen.requests).toBe(0);
    const second = (await scene.toolport.resume(first.token, { approve: true })) as Suspended;
    expect(second).toMatchObject({ reason: "input" });
    expect(await scene.toolport.resume(second.token, seat())).toMatchObject({ isError: false });
    expect(scene.seen.requests).toBe(2);
  });

  test("a call that is not approved is REFUSED, unsent, and its token is gone", async () => {
    await using scene = open({ approve: () => "suspend" });
    const { token } = await scene.suspend();
    expect(await failure(scene.toolport.resume(token, { approve: false }))).toMatchObject({
      code: "REFUSED",
      outcome: "unsent",
    });
    expect(await failure(scene.toolport.resume(token, { approve: true }))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
    expect(scene.seen.requests).toBe(0);
  });

  test("a call without suspend is REFUSED, and the error names the option", async () => {
    await using scene = open({ approve: { when: "always" } });
    const error = await failure(scene.toolport.callTool("travel__book", { to: "Oslo" }));
    expect(error).toMatchObject({ code: "REFUSED", outcome: "unsent" });
    expect(error.message).toContain("{ suspend: true }");
  });
});

describe("key", () => {
  const call = (scene: ReturnType<typeof open>, tool: string, args = { to: "Oslo" }) =>
    scene.toolport.callTool(`travel__${tool}`, args, { suspend: { key: "order 1" } });

  test("the same key finds the same suspension, then the saved result", async () => {
    await using scene = open();
    const first = (await call(scene, "book")) as Suspended;
    expect(await call(scene, "book")).toEqual(first);
    const result = await scene.toolport.resume(first.token, seat());
    expect(await call(scene, "book")).toMatchObject({ text: "booked Oslo, seat 12A, meal none" });
    expect(result).toMatchObject({ text: "booked Oslo, seat 12A, meal none" });
    expect(scene.seen.requests).toBe(2);
    expect(await scene.store.list("suspended/")).toHaveLength(1);
  });

  test("a call that asks nothing is sent once", async () => {
    await using scene = open();
    const [a, b] = await Promise.all([call(scene, "note"), call(scene, "note")]);
    expect([a, b]).toMatchObject([{ text: "noted Oslo" }, { text: "noted Oslo" }]);
    expect(scene.seen.requests).toBe(1);
  });

  test("with other arguments or another tool it is KEY_REUSED", async () => {
    await using scene = open();
    await call(scene, "note");
    for (const [tool, args] of [
      ["book", { to: "Oslo" }],
      ["note", { to: "Rome" }],
    ] as const)
      expect(await failure(call(scene, tool, args))).toMatchObject({ code: "KEY_REUSED", outcome: "unsent" });
    expect(scene.seen.requests).toBe(1);
  });
});

describe("a call with a key that has ended", () => {
  const call = (scene: ReturnType<typeof open>, tool: string) =>
    scene.toolport.callTool(`travel__${tool}`, { to: "Oslo" }, { suspend: { key: "order 2" } });

  test("after discard() it is REFUSED, and not begun anew", async () => {
    await using scene = open();
    const { token } = (await call(scene, "book")) as Suspended;
    await scene.toolport.discard(token);
    expect(await failure(call(scene, "book"))).toMatchObject({ code: "REFUSED", outcome: "unsent" });
    expect(await failure(scene.toolport.resume(token, seat()))).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
    expect(scene.seen.requests).toBe(1);
  });

  test("after an error of the server it fails with the same error", async () => {
    await using scene = open();
    const first = await failure(call(scene, "break"));
    expect(first).toMatchObject({ code: "PROTOCOL", rpcCode: -32603, tool: "break" });
    const second = await failure(call(scene, "break"));
    expect(second).toMatchObject({ code: "PROTOCOL", rpcCode: -32603, tool: "break", outcome: "unknown" });
    expect(second.message).toContain("use another key");
    expect(scene.seen.requests).toBe(1);
  });
});
