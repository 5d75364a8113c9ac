/** One approval releases one call, however often and wherever the client sends its state. */
import { memoryStore } from "toolport";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FAULT_STORES } from "../../../test/suspend/fault-stores.js";
import type { RpcMessage } from "./raw-client.js";
import { openApprovalRig, sendCall, textOf, UNUSABLE, waitingState, YES } from "./support/approvals.js";
import { testReplicas } from "./support/approvals-on-replicas.js";

const call = { tool: "pay" };
const PAID = 'paid {"amount":1}';
const NO = { approval: { action: "accept", content: { allow: false } } };

afterEach(() => void vi.useRealTimers());

async function openOne(era?: "modern" | "legacy") {
  const rig = await openApprovalRig(era);
  return {
    rig,
    scene: await rig.replica(memoryStore()),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe("the same state again", () => {
  test("gets the result of the first call, one after the other and at once", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    const first = await sendCall(scene, { ...call, state });
    expect(textOf(first)).toBe(PAID);
    for (let again = 0; again < 3; again += 1)
      expect((await sendCall(scene, { ...call, state })).last).toEqual(first.last);
    const hold = { tool: "hold" };
    const held = await waitingState(scene, hold);
    rig.news.once("started", () => rig.news.emit("end"));
    const both = await Promise.all([0, 1, 2].map(() => sendCall(scene, { ...hold, state: held })));
    expect(both.map(textOf)).toEqual(["held", "held", "held"]);
    expect([rig.runs("pay"), rig.runs("hold")]).toEqual([1, 1]);
  });

  test("gets the error of the first call", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, { tool: "fail" });
    const first = await sendCall(scene, { tool: "fail", state });
    expect(first.last.result).toMatchObject({ isError: true });
    expect((await sendCall(scene, { tool: "fail", state })).last).toEqual(first.last);
    expect(rig.runs("fail")).toBe(1);
  });

  test("with other arguments, of another user or expired is refused, and does not use the approval up", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    const wrong = [
      await sendCall(scene, { ...call, state, args: { amount: 1_000 } }),
      await sendCall(scene, { ...call, state, user: "bob" }),
      await sendCall(scene, { tool: "hold", state }),
    ];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11 * 60_000 + 1_000 });
    wrong.push(await sendCall(scene, { ...call, state }));
    vi.useRealTimers();
    expect(wrong.map(({ last }) => last.error)).toEqual(wrong.map(() => UNUSABLE));
    expect(rig.runs("pay")).toBe(0);
    expect(textOf(await sendCall(scene, { ...call, state }))).toBe(PAID);
  });

  test("after it was used is refused with other arguments, another user, and other answers", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    await sendCall(scene, { ...call, state });
    const wrong = [
      await sendCall(scene, { ...call, state, args: { amount: 1_000 } }),
      await sendCall(scene, { ...call, state, user: "bob" }),
      await sendCall(scene, { ...call, state, answers: { ...YES, more: {} } }),
      await sendCall(scene, { ...call, state, answers: NO }),
    ];
    expect(wrong.map(({ last }) => last.error)).toEqual(wrong.map(() => UNUSABLE));
    expect(rig.runs("pay")).toBe(1);
  });

  test.each([
    ["declines", { approval: { action: "decline" } }],
    ["cancels", { approval: { action: "cancel" } }],
    ["does not allow it", NO],
    ["does not answer", {}],
  ])("runs nothing after the user %s", async (_what, answers) => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    const refused = await sendCall(scene, { ...call, state, answers });
    expect(refused.last.result).toMatchObject({
      isError: true,
      _meta: { "toolport/error": { code: "REFUSED" } },
    });
    expect((await sendCall(scene, { ...call, state, answers })).last).toEqual(refused.last);
    expect((await sendCall(scene, { ...call, state })).last.error).toEqual(UNUSABLE);
    expect(rig.runs("pay")).toBe(0);
  });

  test("after the policy denies the tool: no call, and no result of an earlier one", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const [unused, used] = [await waitingState(scene, call), await waitingState(scene, call)];
    expect(textOf(await sendCall(scene, { ...call, state: used }))).toBe(PAID);
    rig.effect = "deny";
    for (const state of [unused, used])
      expect((await sendCall(scene, { ...call, state })).last.result).toMatchObject({
        isError: true,
        _meta: { "toolport/error": { code: "REFUSED", outcome: "unsent" } },
      });
    expect(rig.runs("pay")).toBe(1);
    // The person has approved this call, and the policy lets it run again.
    rig.effect = "approve";
    for (let again = 0; again < 2; again += 1)
      expect(textOf(await sendCall(scene, { ...call, state: unused }))).toBe(PAID);
    expect(rig.runs("pay")).toBe(2);
  });

  test("after the policy allows the tool is still one call", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    rig.effect = "allow";
    for (let again = 0; again < 2; again += 1)
      expect(textOf(await sendCall(scene, { ...call, state }))).toBe(PAID);
    expect(rig.runs("pay")).toBe(1);
  });

  test("without the result if it was too large to be kept", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, { tool: "large" });
    expect(textOf(await sendCall(scene, { tool: "large", state }))).toHaveLength(100_000);
    expect((await sendCall(scene, { tool: "large", state })).last.error).toEqual(UNUSABLE);
    expect(rig.runs("large")).toBe(1);
  });
});

describe("a question after the approval", () => {
  const book = { tool: "book" };
  const seat = { seat: { action: "accept", content: { seat: "1A" } } };

  test("of a server with states: the approval is used once, and so is the state that continues it", async () => {
    await using one = await openOne("modern");
    const { rig, scene } = one;
    const state = await waitingState(scene, book);
    const asked = await sendCall(scene, { ...book, state });
    expect(asked.last.result).toMatchObject({ resultType: "input_required", inputRequests: { seat: {} } });
    expect((await sendCall(scene, { ...book, state })).last).toEqual(asked.last);
    const next = asked.last.result.requestState as string;
    const booked = await Promise.all(
      [0, 1].map(() => sendCall(scene, { ...book, state: next, answers: seat })),
    );
    expect(booked.map(textOf)).toEqual(['booked {"seat":"1A"}', 'booked {"seat":"1A"}']);
    const other = { seat: { action: "accept", content: { seat: "2B" } } };
    expect((await sendCall(scene, { ...book, state: next, answers: other })).last.error).toEqual(UNUSABLE);
    expect((await sendCall(scene, { ...book, state })).last).toEqual(asked.last);
    expect(rig.booked).toEqual([{ seat: "1A" }]);
    expect(rig.runs("book")).toBe(2);
  });

  test("without an approval, a state that is sent again is the business of its server", async () => {
    await using one = await openOne("modern");
    const { rig, scene } = one;
    rig.effect = "allow";
    const { last } = await sendCall(scene, book);
    for (let again = 0; again < 2; again += 1)
      await sendCall(scene, { ...book, state: last.result.requestState, answers: seat });
    expect(rig.booked).toHaveLength(2);
  });

  test("of a legacy server: the call is parked once", async () => {
    await using one = await openOne("legacy");
    const { rig, scene } = one;
    const state = await waitingState(scene, book);
    const asked = await Promise.all([0, 1].map(() => sendCall(scene, { ...book, state })));
    const [first, second] = asked.map(({ last }) => last.result);
    expect(first).toMatchObject({ resultType: "input_required" });
    expect(second).toEqual(first);
    const [key = ""] = Object.keys(first.inputRequests);
    const answer = { ...book, state: first.requestState, answers: { [key]: seat.seat } };
    expect(textOf(await sendCall(scene, answer))).toBe('booked {"seat":"1A"}');
    expect((await sendCall(scene, answer)).last.error).toEqual(UNUSABLE);
    expect((await sendCall(scene, { ...book, state })).last.result).toEqual(first);
    expect([rig.runs("book"), rig.booked.length]).toEqual([1, 1]);
  });

  test("that demands a web page: the call goes on once", async () => {
    await using one = await openOne("legacy");
    const { rig, scene } = one;
    const visit = { tool: "visit" };
    const state = await waitingState(scene, visit);
    const asked = await sendCall(scene, { ...visit, state });
    const next = asked.last.result.requestState as string;
    const visited = { page1: { action: "accept" } };
    rig.visited();
    const ends = await Promise.all(
      [0, 1].map(() => sendCall(scene, { ...visit, state: next, answers: visited })),
    );
    expect(ends.map(textOf)).toEqual(["visited", "visited"]);
    // The first state is not worth another call, now that the page was visited.
    expect((await sendCall(scene, { ...visit, state })).last).toEqual(asked.last);
    expect(rig.runs("visit")).toBe(2);
  });
});

test("a legacy client is asked in its session, and a state that it sends releases nothing", async () => {
  await using one = await openOne();
  const { rig, scene } = one;
  const state = await waitingState(scene, call);
  const params = { name: "up__pay", arguments: { amount: 1 }, requestState: state, inputResponses: YES };
  const mute = await scene.session("ada");
  const refused = await scene.legacy("ada", mute, { id: 1, method: "tools/call", params });
  expect(refused.last.result).toMatchObject({ _meta: { "toolport/error": { code: "REFUSED" } } });
  const session = await scene.session("ada", { elicitation: { form: {} } });
  const replies: Promise<unknown>[] = [];
  const answer = { result: YES.approval };
  const onMessage = (message: RpcMessage) => {
    if (message.method !== "elicitation/create") return;
    for (let again = 0; again < 2; again += 1)
      replies.push(scene.legacy("ada", session, { id: message.id, ...answer }));
  };
  const paid = await scene.legacy("ada", session, { id: 2, method: "tools/call", params }, { onMessage });
  expect(textOf(paid)).toBe(PAID);
  await Promise.all(replies);
  expect([replies.length, rig.runs("pay")]).toEqual([2, 1]);
});

test("an approval that a program waits for is answered once, and its state runs no program again", async () => {
  await using rig = await openApprovalRig();
  const store = memoryStore();
  const [one, two] = [
    await rig.replica(store, {}, { code: true }),
    await rig.replica(store, {}, { code: true }),
  ];
  const program = {
    tool: "execute",
    name: "execute",
    args: { code: "return await tools.up.pay({ amount: 1 })" },
  };
  const { result } = (await sendCall(one, program)).last;
  const [key = ""] = Object.keys(result.inputRequests);
  const answer = { ...program, state: result.requestState, answers: { [key]: YES.approval } };
  const ends = await Promise.all([one, two, one].map((scene) => sendCall(scene, answer)));
  expect(ends.filter((end) => textOf(end).includes("paid"))).toHaveLength(1);
  const refused = ends.filter(({ last }) => last.error !== undefined);
  expect(refused.map(({ last }) => last.error)).toEqual([UNUSABLE, UNUSABLE]);
  expect((await sendCall(two, answer)).last.error).toEqual(UNUSABLE);
  expect(rig.runs("pay")).toBe(1);
});

describe("new rules while a person is asked", () => {
  const REFUSED = { isError: true, _meta: { "toolport/error": { code: "REFUSED", outcome: "unsent" } } };

  test("that allow the tool: a refusal of the person holds", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const state = await waitingState(scene, call);
    rig.effect = "allow";
    expect((await sendCall(scene, { ...call, state, answers: NO })).last.result).toMatchObject(REFUSED);
    expect(rig.runs("pay")).toBe(0);
  });

  test("that deny the tool: the approval of a legacy client comes too late", async () => {
    await using one = await openOne();
    const { rig, scene } = one;
    const session = await scene.session("ada", { elicitation: { form: {} } });
    const onMessage = (message: RpcMessage) => {
      if (message.method !== "elicitation/create") return;
      rig.effect = "deny";
      void scene.legacy("ada", session, { id: message.id, result: YES.approval });
    };
    const params = { name: "up__pay", arguments: { amount: 1 } };
    const { last } = await scene.legacy(
      "ada",
      session,
      { id: 1, method: "tools/call", params },
      { onMessage },
    );
    expect(last.result).toMatchObject(REFUSED);
    expect(rig.runs("pay")).toBe(0);
  });

  test.each([
    ["the approval of a call of a program comes too late", "pay", "approve", "unsent"],
    ["a call of a program that waits for an answer is cancelled", "book", "allow", "unknown"],
  ] as const)("that deny the tool: %s", async (_what, tool, effect, outcome) => {
    await using rig = await openApprovalRig("legacy");
    rig.effect = effect;
    const scene = await rig.replica(memoryStore(), {}, { code: true });
    const program = { tool: "execute", name: "execute", args: { code: `return await tools.up.${tool}({})` } };
    const { result } = (await sendCall(scene, program)).last;
    const [key = ""] = Object.keys(result.inputRequests);
    rig.effect = "deny";
    const answers = { [key]: YES.approval };
    const { last } = await sendCall(scene, { ...program, state: result.requestState, answers });
    expect(last.result).toMatchObject({
      isError: true,
      _meta: { "toolport/code": { calls: [{ tool: `up__${tool}`, code: "REFUSED", outcome }] } },
    });
    expect([rig.runs("pay"), rig.booked]).toEqual([0, []]);
  });
});

test("an approval is not valid for a tool of another server that has got the name", async () => {
  await using first = await openApprovalRig();
  await using second = await openApprovalRig();
  const store = memoryStore();
  const one = await first.replica(store, { prefix: false });
  const mcpServers = { down: (await second.server.http()).entry };
  const two = await first.replica(store, { prefix: false, mcpServers });
  const plain = { tool: "pay", name: "pay" };
  const state = await waitingState(one, plain);
  expect(textOf(await sendCall(two, { ...plain, state: await waitingState(two, plain) }))).toBe(PAID);
  expect((await sendCall(two, { ...plain, state })).last.error).toEqual(UNUSABLE);
  expect([first.runs("pay"), second.runs("pay")]).toEqual([0, 1]);
});

test("the audit log says which requests ran nothing", async () => {
  const events: { outcome?: string; code?: unknown }[] = [];
  await using rig = await openApprovalRig();
  const scene = await rig.replica(
    memoryStore(),
    {},
    { audit: { onEvent: (event) => void events.push(event) } },
  );
  const state = await waitingState(scene, call);
  for (let again = 0; again < 2; again += 1) await sendCall(scene, { ...call, state });
  await sendCall(scene, { ...call, state, answers: { ...YES, more: {} } });
  expect(
    events.filter(({ outcome }) => outcome !== undefined).map(({ outcome, code }) => [outcome, code]),
  ).toEqual([
    ["waiting", undefined],
    ["ok", undefined],
    ["ok", "REPEATED"],
    ["error", -32602],
  ]);
});

for (const kind of FAULT_STORES.filter(({ name }) => name === "memory" || name === "SQLite"))
  testReplicas(kind);
