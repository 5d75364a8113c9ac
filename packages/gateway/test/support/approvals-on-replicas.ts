/** The suite of approvals that are sent to several replicas, on one kind of store. */
import { describe, expect, test } from "vitest";
import type { FaultStoreKind } from "../../../../test/suspend/fault-stores.js";
import { openApprovalRig, sendCall, textOf, waitingState } from "./approvals.js";

export function testReplicas(kind: FaultStoreKind): void {
  describe.skipIf(kind.isMissing)(`replicas over ${kind.name}`, () => {
    async function openTwo() {
      const place = await kind.start();
      const stores = [place.open(), place.open()] as const;
      const rig = await openApprovalRig();
      return {
        rig,
        one: await rig.replica(stores[0]),
        two: await rig.replica(stores[1]),
        async [Symbol.asyncDispose]() {
          await rig[Symbol.asyncDispose]();
          for (const store of stores) await store.close();
          await place[Symbol.asyncDispose]();
        },
      };
    }

    test("one state at two replicas at once is one call, and both get its result", async () => {
      await using replicas = await openTwo();
      const { rig, one, two } = replicas;
      for (let round = 0; round < 5; round += 1) {
        const call = { tool: "pay", args: { amount: round } };
        const state = await waitingState(one, call);
        const ends = await Promise.all(
          [one, two, one, two].map((scene) => sendCall(scene, { ...call, state })),
        );
        expect(ends.map(textOf)).toEqual(ends.map(() => `paid {"amount":${round}}`));
        expect(rig.runs("pay")).toBe(round + 1);
      }
    });

    test("a state that another replica uses waits for the end there", async () => {
      await using replicas = await openTwo();
      const { rig, one, two } = replicas;
      const hold = { tool: "hold" };
      const state = await waitingState(two, hold);
      const started = new Promise((resolve) => rig.news.once("started", resolve));
      const first = sendCall(one, { ...hold, state });
      await started;
      const second = sendCall(two, { ...hold, state });
      // Another call of the user goes on meanwhile.
      const pay = { tool: "pay" };
      expect(textOf(await sendCall(two, { ...pay, state: await waitingState(two, pay) }))).toContain("paid");
      rig.news.emit("end");
      expect([textOf(await first), textOf(await second)]).toEqual(["held", "held"]);
      expect(textOf(await sendCall(two, { ...hold, state }))).toBe("held");
      expect(rig.runs("hold")).toBe(1);
    });
  });
}
