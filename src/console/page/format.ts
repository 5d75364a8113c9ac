/** Formats numbers, sizes and times. */

export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export const timeOfDay = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** "in 5 min", "3 h ago". */
export function fromNow(at: number, now = Date.now()): string {
  const distance = Math.abs(at - now);
  const units: [number, string][] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ];
  const [unit, name] = units.find(([ms]) => distance >= ms) ?? [1_000, "s"];
  const text = `${Math.floor(distance / unit)} ${name}`;
  return at >= now ? `in ${text}` : `${text} ago`;
}

/** An estimated number of tokens. */
export const about = (tokens: number): string => `~${tokens.toLocaleString("en")}`;

export const json = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
