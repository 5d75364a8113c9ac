/** Follows the changes of a shared database through lost connections: what was missed is told once it is back. */
import { backoffMs } from "../../util/backoff.js";
import { pause } from "../../util/sleep.js";

/** One connection that tells of changes until it is lost. */
export interface ChangeFeed {
  /** Keys written or deleted within the last `ms` milliseconds, by the server's clock. */
  changedWithin(ms: number): Promise<string[]>;
  /** Rejects if the connection is no longer good. */
  check(): Promise<void>;
  close(): void;
}

/** What a feed reports while it is open. */
export interface FeedListener {
  onKey(key: string): void;
  /** The connection is gone. */
  onLost(): void;
}

/** How long the server remembers what changed. After a longer gap everything is told. */
export const CHANGE_MEMORY_MS = 3_600_000;
/** A connection can be dead without anybody saying so. */
const CHECK_EVERY_MS = 15_000;
/** Clocks and round trips: better told twice than never. */
const SLACK_MS = 1_000;

/**
 * Opens a feed, and again whenever it is lost, until the returned function is called. Trouble is waited out. Nothing here
 * keeps the process alive.
 */
export function followChanges(
  open: (listener: FeedListener) => Promise<ChangeFeed>,
  onChange: (key: string) => void,
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const tell = (key: string) => {
    if (!signal.aborted) onChange(key);
  };
  /** Everything that happened before this moment has been told, or was before the watch began. */
  let toldUntil = performance.now();

  const follow = async (): Promise<void> => {
    const over = new AbortController();
    const end = () => over.abort();
    const feed = await open({ onKey: tell, onLost: end });
    if (signal.aborted) return feed.close();
    signal.addEventListener("abort", end);
    try {
      const openedAt = performance.now();
      for (const key of await feed.changedWithin(openedAt - toldUntil + SLACK_MS)) tell(key);
      toldUntil = openedAt;
      for (;;) {
        await pause(CHECK_EVERY_MS, over.signal).catch(() => {});
        if (over.signal.aborted) return;
        const checkedAt = performance.now();
        await feed.check();
        toldUntil = checkedAt;
      }
    } finally {
      signal.removeEventListener("abort", end);
      feed.close();
    }
  };

  const followForEver = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt++) {
      const startedAt = toldUntil;
      await follow().catch(() => {});
      if (toldUntil !== startedAt) attempt = 1;
      await pause(backoffMs(attempt + 1, { baseMs: 200, maxMs: 5_000 }), signal).catch(() => {});
    }
  };
  void followForEver();
  return () => stopping.abort();
}
