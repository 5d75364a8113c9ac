/** Whether trying again can help. */
import { classifyError } from "./classify-error.js";

/**
 * `retryable` of an error or result: trying again can help, if the request may run twice or provably did not run.
 *
 * @example
 * ```ts
 * if (shouldRetry(error)) await pause(1_000);
 * ```
 */
export function shouldRetry(errorOrResult: unknown): boolean {
  return classifyError(errorOrResult).retryable;
}
