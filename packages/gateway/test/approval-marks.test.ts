/** The marks of used approvals in the store: it fails before or after a call, and they are removed. */
import { memoryStore, type Store } from "toolport";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openApprovalRig, sendCall, textOf, waitingState } from "./support/approvals.js";

const call = { tool: "pay" };
const PAID = 'paid {"amount":1}';

afterEach(() => void vi.useRealTimers());

/** A store whose operations on marks fail on demand. */
function troubledStore() {
  const store = memoryStore();
  const trouble = { put: false, get: false };
  const check = (name: "put" | "get", key: string) => {
    if (trouble[name] && key.startsWith("serve/used/")) throw new Error("the store is away");
  };
  const troubled: Store = {
    ...store,
    async get(key) {
      check("get", key);
      return store.get(key);
    },
    async put(key, value, options) {
      check("put", key);
      return store.put(key, value, options);
    },
  };
  return { store: troubled, trouble };
}

describe("a store that fails", () => {
  test("before the call: nothing is sent, and the approval is valid when it is back", async () => {
    const { store, trouble } = troubledStore();
    await using rig = await openApprovalRig();
    const scene = await rig.replica(store);
    const state = await waitingState(scene, call);
    trouble.put = true;
    const failed = await sendCall(scene, { ...call, state });
    expect({ status: failed.status, error: failed.last.error }).toMatchObject({
      status: 503,
      error: { code: -32603, data: { code: "UNAVAILABLE", retryable: true, outcome: "unknown" } },
    });
    expect(rig.runs("pay")).toBe(0);
    trouble.put = false;
    expect(textOf(await sendCall(scene, { ...call, state }))).toBe(PAID);
    trouble.get = true;
    expect((await sendCall(scene, { ...call, state })).status).toBe(503);
    expect(rig.runs("pay")).toBe(1);
  });

  test("after the call: its client gets the result, and later ones that it is unknown", async () => {
    const { store, trouble } = troubledStore();
    await using rig = await openApprovalRig();
    const scene = await rig.replica(store);
    const hold = { tool: "hold" };
    const state = await waitingState(scene, hold);
    rig.news.once("started", () => {
      trouble.put = true;
      rig.news.emit("end");
    });
    expect(textOf(await sendCall(scene, { ...hold, state }))).toBe("held");
    trouble.put = false;
    // As if the lease of the mark were over.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 30_000 });
    expect((await sendCall(scene, { ...hold, state })).last.error).toMatchObject({
      code: -32603,
      data: { code: "OUTCOME_UNKNOWN", retryable: false, outcome: "unknown" },
    });
    expect(rig.runs("hold")).toBe(1);
  });
});

test("marks are removed after their state has expired, and not before", async () => {
  const store = memoryStore();
  await using rig = await openApprovalRig();
  const scene = await rig.replica(store);
  const states = [await waitingState(scene, call), await waitingState(scene, call)];
  for (const state of states) await sendCall(scene, { ...call, state });
  const marks = () => store.list("serve/used/");
  expect(await marks()).toHaveLength(2);
  const now = Date.now();
  // The clock of the replica that opens the state may be a minute behind, and a state is valid for a minute more than ten.
  vi.useFakeTimers({ toFake: ["Date"], now: now + 12 * 60_000 });
  expect(await marks()).toHaveLength(2);
  vi.setSystemTime(now + 14 * 60_000);
  expect(await marks()).toEqual([]);
  expect(rig.runs("pay")).toBe(2);
});
