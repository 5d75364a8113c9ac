/** The one suite that every store passes. */
import { describe, test } from "vitest";
import { leaseCases } from "./store-lease-cases.js";
import { recordCases } from "./store-record-cases.js";
import type { StoreSubject } from "./store-subject.js";
import { watchCases } from "./store-watch-cases.js";

export type { StoreSubject } from "./store-subject.js";

const parts = { records: recordCases, leases: leaseCases, watching: watchCases };

/** Runs the contract; `open` makes a fresh, empty store every time. */
export function describeStore(name: string, open: () => Promise<StoreSubject>): void {
  for (const [part, cases] of Object.entries(parts)) {
    describe(`${name}: ${part}`, () => {
      for (const { name: promise, run } of cases) {
        test(promise, async () => {
          const subject = await open();
          try {
            await run(subject);
          } finally {
            await subject.remove();
          }
        });
      }
    });
  }
}
