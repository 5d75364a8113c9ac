/** How long a server asks to be left alone. */

/** Longest wait that is honoured. */
const MAX_RETRY_AFTER_MS = 30_000;

/** Reads `Retry-After` (seconds or an HTTP date); what makes no sense counts as absent. */
export function parseRetryAfter(value: string | null, now: number = Date.now()): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  // A date has letters in it; Date.parse alone would take "-1" or "1.5" for one.
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now, 0), MAX_RETRY_AFTER_MS);
}
