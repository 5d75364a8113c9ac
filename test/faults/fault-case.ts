/** Declares the test of a fault or a duty: named by its id, run in its own harness, with the checks of the common rule. */
import { test } from "vitest";
import { type CaseId, describeCase } from "./catalogue.js";
import { type FaultHarness, type HarnessOptions, openFaultHarness } from "./fault-harness.js";

/** `npm run test:faults:long`: the bounds of the catalogue, not shortened by configuration. */
export const AS_WRITTEN = process.env["TOOLPORT_FAULTS_LONG"] === "1";

/** The time to configure: short by default, the one of the catalogue in the long run. */
export const bound = (shortMs: number, asWrittenMs: number): number => (AS_WRITTEN ? asWrittenMs : shortMs);

export interface CaseOptions extends HarnessOptions {
  /** Timeout of the whole test. @default 120000, ten minutes in the long run */
  readonly timeoutMs?: number;
  /** Why it cannot run here, if so: the test is skipped with this reason. */
  readonly skip?: string | false | undefined;
}

/**
 * One case of a row. A row may have several: `what` distinguishes them.
 *
 * @example
 * ```ts
 * faultCase("N08", "204", async (harness) => {
 *   const toolport = harness.open({ it: { url } });
 *   await harness.fails(toolport.callTool("it__echo"), { code: "BAD_RESPONSE", server: "it", withinMs: 1_000 });
 * });
 * ```
 */
export function faultCase(
  id: CaseId,
  what: string,
  run: (harness: FaultHarness) => Promise<void>,
  { timeoutMs = AS_WRITTEN ? 600_000 : 120_000, skip, ...options }: CaseOptions = {},
): void {
  const title = `${id} ${describeCase(id)}: ${what}`;
  if (skip) {
    test.skip(`${title} (skipped: ${skip})`);
    return;
  }
  test(title, { timeout: timeoutMs }, async () => {
    const harness = await openFaultHarness(options);
    let failed = true;
    try {
      await run(harness);
      failed = false;
    } finally {
      // After a failure the harness only closes everything: further findings would hide the cause.
      if (failed) await harness.sweep();
    }
    await harness.leave();
  });
}
