/** One approval releases one call: over Redis and PostgreSQL, and for a user who approves without end. */
import { memoryStore } from "toolport";
import { afterEach, expect, test, vi } from "vitest";
import { postgres, redis } from "../../../test/suspend/fault-stores.js";
import { openApprovalRig, sendCall, textOf, waitingState } from "./support/approvals.js";
import { testReplicas } from "./support/approvals-on-replicas.js";

for (const kind of [redis, postgres]) testReplicas(kind);

afterEach(() => void vi.useRealTimers());

test("the approved calls of one user are limited, those of others are not", async () => {
  // No time passes for the limit.
  vi.useFakeTimers({ toFake: ["performance"] });
  const store = memoryStore();
  await using rig = await openApprovalRig();
  const scene = await rig.replica(store);
  const call = { tool: "pay" };
  const first = await waitingState(scene, call);
  expect(textOf(await sendCall(scene, { ...call, state: first }))).toContain("paid");
  // Fewer at once than one user may have open.
  for (let rest = 499; rest > 0; rest -= 25)
    await Promise.all(
      Array.from({ length: Math.min(25, rest) }, async () => {
        const state = await waitingState(scene, call);
        expect(textOf(await sendCall(scene, { ...call, state }))).toContain("paid");
      }),
    );
  const state = await waitingState(scene, call);
  const refused = await sendCall(scene, { ...call, state });
  expect({ status: refused.status, error: refused.last.error }).toMatchObject({
    status: 429,
    error: { data: { retryable: true, outcome: "unsent" } },
  });
  expect(rig.runs("pay")).toBe(500);
  // What was approved before is still known.
  expect(textOf(await sendCall(scene, { ...call, state: first }))).toContain("paid");
  const bob = { ...call, user: "bob" };
  expect(textOf(await sendCall(scene, { ...bob, state: await waitingState(scene, bob) }))).toContain("paid");
  expect(rig.runs("pay")).toBe(501);
  expect(await store.list("serve/used/")).toHaveLength(501);
  vi.advanceTimersByTime(1_000);
  expect(textOf(await sendCall(scene, { ...call, state }))).toContain("paid");
});
