/** Checks that the heap is back at its old size after garbage collection. */
import { expect } from "vitest";
import { waitFor } from "../support/leaks.js";

export interface HeapCheck {
  expectWithin(growth: number): Promise<void>;
}

const used = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Measures now. Needs `--expose-gc`, which the configuration of the fault suite sets; without it nothing is checked. */
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
