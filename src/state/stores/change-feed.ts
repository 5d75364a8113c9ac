/** Follows the changes of a shared database and reports every changed key, including changes while the connection was lost. */
import { backoffMs } from "../../util/backoff.js";
import { pause } from "../../util/sleep.js";
import type { LimitedCall } from "./limited-calls.js";

/** What a connection reports while it is subscribed. */
export interface FeedListener {
  onKey(key: string): void;
  /** A key changed that the notice does not name. */
  onUnnamedKey(): void;
  /** The connection is closed or broken. */
  onLost(): void;
}

/** A connection that receives the notices of a database. */
export interface FeedConnection {
  /** Subscribes to the notices. Called once. */
  subscribe(): Promise<unknown>;
  /** Rejects if the connection is broken. */
  ping(): Promise<unknown>;
  close(): void;
  /** Notices can be lost while the connection stays open. */
  readonly canMissNotices?: boolean;
}

/** A database whose changes can be followed. */
export interface ChangeSource {
  connect(listener: FeedListener): Promise<FeedConnection>;
  /** Keys written or deleted within the last `ms` milliseconds, by the clock of the database server. */
  changedWithin(ms: number): Promise<string[]>;
  /** Bounds the time of a call to the database. */
  limited: LimitedCall;
}

/** How long the database stores changes. After a longer gap, every key is reported. */
export const CHANGE_MEMORY_MS = 3_600_000;
/** A broken connection does not always close, so it is checked at this interval. */
const CHECK_EVERY_MS = 15_000;
/** Two checks: covers changes since the last one. */
const SINCE_LAST_CHECK_MS = 2 * CHECK_EVERY_MS;
/** Covers the delay of a notice. */
const JUST_NOW_MS = 10_000;
/** Covers clock differences and round trips. A key may be reported twice. */
const SLACK_MS = 1_000;

/**
 * Follows the changes until the returned function is called. After a lost connection it connects again, with backoff, and
 * reports what changed in the meantime. It does not keep the process alive.
 */
export function followChanges(source: ChangeSource, onChange: (key: string) => void): () => void {
  const { limited, changedWithin } = source;
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = (key: string) => {
    if (!signal.aborted) onChange(key);
  };
  const reportChangesWithin = async (ms: number) => (await changedWithin(ms)).forEach(report);
  /** Every change before this time was reported, or happened before the first connection. */
  let reportedUntil = performance.now();

  const follow = async (): Promise<void> => {
    const over = new AbortController();
    const end = () => over.abort();
    const connection = await source.connect({
      onKey: report,
      onUnnamedKey: () => void reportChangesWithin(JUST_NOW_MS).catch(end),
      onLost: end,
    });
    try {
      await limited(() => connection.subscribe());
      if (signal.aborted) return;
      signal.addEventListener("abort", end);
      const subscribedAt = performance.now();
      await reportChangesWithin(subscribedAt - reportedUntil + SLACK_MS);
      reportedUntil = subscribedAt;
      for (;;) {
        await pause(CHECK_EVERY_MS, over.signal).catch(() => {});
        if (over.signal.aborted) return;
        const checkedAt = performance.now();
        await limited(() => connection.ping());
        if (connection.canMissNotices === true) await reportChangesWithin(SINCE_LAST_CHECK_MS);
        reportedUntil = checkedAt;
      }
    } finally {
      signal.removeEventListener("abort", end);
      connection.close();
    }
  };

  const followUntilStopped = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt++) {
      const startedAt = reportedUntil;
      await follow().catch(() => {});
      if (reportedUntil !== startedAt) attempt = 1;
      await pause(backoffMs(attempt + 1, { baseMs: 200, maxMs: 5_000 }), signal).catch(() => {});
    }
  };
  void followUntilStopped();
  return () => stopping.abort();
}
