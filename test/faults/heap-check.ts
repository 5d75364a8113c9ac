/** Whether the heap is back where it was: after a collection, and after what goes late. */
import { expect } from "vitest";
import { waitFor } from "../support/leaks.js";

export interface HeapCheck {
  expectWithin(growth: number): Promise<void>;
}

const used = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Takes the measure now. Needs `--expose-gc`, which the configuration of the fault suite gives; without it nothing is said. */
export function watchHeap(): HeapCheck {
  const before = used();
  return {
    async expectWithin(growth) {
      if (globalThis.gc === undefined) return;
      const grown = () => used() - before;
      await waitFor(() => grown() <= growth, { intervalMs: 100 }).catch(() => {
        expect(grown(), "bytes of heap kept").toBeLessThanOrEqual(growth);
      });
    },
  };
}
