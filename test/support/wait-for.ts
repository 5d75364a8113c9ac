/** Polls for conditions without an event. */

/** Options of {@link waitFor}. */
export interface WaitForOptions {
  /** Only a hang should take longer, on a busy machine too. @default 20000 */
  readonly timeoutMs?: number;
  /** @default 20 */
  readonly intervalMs?: number;
  /** Description of the condition for the error message. */
  readonly label?: string | (() => string);
}

/**
 * Polls `condition` until it returns something truthy, and returns that. Rejects after `timeoutMs`. For conditions that
 * have no event to wait for; a condition that throws counts as "not yet", and its last error becomes the cause.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 20_000, intervalMs = 20, label }: WaitForOptions = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as NonNullable<T>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) {
      const what = typeof label === "function" ? label() : (label ?? "the condition");
      throw new Error(`Waited ${timeoutMs} ms for ${what}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}
