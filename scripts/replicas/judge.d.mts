/** A call as its client saw it. Times are those of `performance.now()`. */
export interface JudgedCall {
  startedAt: number;
  /** When its last request was sent. */
  lastSentAt: number;
  endedAt: number;
  error?: Error | undefined;
  /** The replicas that got its requests. */
  touched: Set<{ killedAt?: number | undefined }>;
}

export interface Verdict {
  figures: Record<string, number>;
  failures: { ms: number; message: string }[];
  /** What was wrong, by kind. */
  problems: Record<"crossings" | "twice" | "unexplained" | "late" | "not run", string[]>;
}

export function judge(run: {
  calls: ReadonlyMap<string, JudgedCall>;
  upstream: { calls: Record<string, string[]>; crossings: string[] };
  wrong: string[];
}): Verdict;
