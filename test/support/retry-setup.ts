/** A retry step whose waits take no time. */

import { TokenBucket } from "../../packages/base/src/util/concurrency.js";
import { type RetryParts, retryStep } from "../../packages/core/src/execution/retry.js";
import type { CallHandler } from "../../packages/core/src/execution/tool-call.js";
import { asInterceptor, callOf, resultOf } from "./tool-call.js";

export const ok = resultOf("ok");

export const idempotent = { options: { idempotent: true } };

/** Records the waits, and moves the clock of the step by them. */
export function setup(parts: Partial<RetryParts> = {}) {
  const slept: number[] = [];
  let now = 0;
  const budget = new TokenBucket({ capacity: 500 });
  const step = retryStep({
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
    random: () => 0.999_999,
    now: () => now,
    ...parts,
  });
  const guards = { breaker: undefined, limiter: undefined, retryBudget: budget };
  const run = (next: CallHandler, call = callOf()) =>
    asInterceptor(step)(next)({ ...call, target: { ...call.target, guards } });
  return { slept, budget, run, rounded: () => slept.map(Math.round) };
}
