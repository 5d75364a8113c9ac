/** What replicas of a gateway share through a store: one suite for every store. */
import { describe, test } from "vitest";
import { gatewayKeyCases } from "./gateway-key-cases.js";
import { mailboxCases } from "./mailbox-cases.js";
import { sharedNoteCases } from "./shared-note-cases.js";
import type { StoreSubject } from "./store-subject.js";

const parts = { keys: gatewayKeyCases, notes: sharedNoteCases, messages: mailboxCases };

/** Runs the contract; `open` makes a fresh, empty store every time. */
export function describeReplicas(name: string, open: () => Promise<StoreSubject>): void {
  for (const [part, cases] of Object.entries(parts)) {
    describe(`replicas with ${name}: ${part}`, () => {
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
