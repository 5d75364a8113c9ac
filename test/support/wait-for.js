/** Polls for what has no event to wait for. */
/**
 * Polls `condition` until it returns something truthy, and returns that. Rejects after `timeoutMs`. For conditions that
 * have no event to wait for; a condition that throws counts as "not yet", and its last error becomes the cause.
 */
export async function waitFor(condition, { timeoutMs = 5_000, intervalMs = 20, label } = {}) {
    const deadline = performance.now() + timeoutMs;
    let cause;
    for (;;) {
        try {
            const value = await condition();
            if (value)
                return value;
            cause = undefined;
        }
        catch (error) {
            cause = error;
        }
        if (performance.now() >= deadline) {
            const what = typeof label === "function" ? label() : (label ?? "the condition");
            throw new Error(`Waited ${timeoutMs} ms for ${what}`, { cause });
        }
        await new Promise((resolve) => setTimeout(resolve, intervalMs));
    }
}
