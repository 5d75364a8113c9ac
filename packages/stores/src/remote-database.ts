/** What stores in a database server share: loading the driver, time limits, and following the changes of others. */
import {
  backoffMs,
  pause,
  readField,
  redactText,
  StateError,
  type StateErrorCode,
  withDeadline,
} from "@toolport/base";

/** Loads an optional package; the error for a missing one says how to install it. */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new StateError({
      code: "UNAVAILABLE",
      what: `The store needs the package ${name}, which could not be loaded`,
      next: `Run \`npm install ${name}\``,
      cause: error,
    });
  }
}

/**
 * Copies an error of a driver without its properties: some contain the arguments of the command (a password,
 * a stored value) or the affected row.
 */
function plainCause(error: unknown): Error | undefined {
  const [message, code] = [readField(error, "message"), readField(error, "code")];
  if (typeof message !== "string") return undefined;
  const cause = new Error(redactText(message));
  return typeof code === "string" ? Object.assign(cause, { code }) : cause;
}

/** What an error of a database means. */
export interface Meaning {
  code: StateErrorCode;
  what: string;
  next?: string;
  retryable?: boolean;
}

export const BUSY: Meaning = { code: "BUSY", what: "is busy", next: "Try again soon", retryable: true };

/** Converts any error of a call to `place` into a `StateError`. */
export function toRemoteError(
  error: unknown,
  place: string,
  meaning: Meaning = unreachable(error),
): StateError {
  if (error instanceof StateError) return error;
  const { what, ...rest } = meaning;
  return new StateError({ ...rest, what: `${place} ${what}`, cause: plainCause(error) });
}

function unreachable(error: unknown): Meaning {
  const code = readField(error, "code");
  const detail = typeof code === "string" ? ` (${code})` : "";
  return {
    code: "UNAVAILABLE",
    what: `could not be reached, or the connection was lost${detail}`,
    next: "Check that it is running and that its address is correct",
    retryable: true,
  };
}

/** The error of a call that took too long. */
const tooSlow = (place: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `${place} did not answer in time`,
    next: "Check that it is running and not overloaded",
    retryable: true,
  });

/** Maximum time of one call: connecting, waiting in the driver's queue and the response together. */
const CALL_LIMIT_MS = 4_000;
/** The part of it for opening a connection. */
export const CONNECT_LIMIT_MS = 3_000;
/** Calls that ran out of time and are still in a driver's queue. With more, further calls fail, so that the queue stays bounded. */
const MAX_ABANDONED = 100;

/** Runs a call. The signal aborts when no caller waits for the result any longer. */
export type LimitedCall = <T>(call: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Creates the limit for the database at `place`. `closing` ends pending calls. */
export function limitCalls(place: string, closing: AbortSignal): LimitedCall {
  let abandoned = 0;
  return async (call) => {
    if (abandoned >= MAX_ABANDONED) throw tooSlow(place);
    const over = new AbortController();
    const promise = call(over.signal);
    try {
      return await withDeadline(promise, {
        timeoutMs: CALL_LIMIT_MS,
        signal: closing,
        onTimeout() {
          abandoned++;
          const settled = () => {
            abandoned--;
          };
          promise.then(settled, settled);
          return tooSlow(place);
        },
      });
    } finally {
      over.abort();
    }
  };
}

/** About three thousand years. */
const LONGEST_MS = 1e14;

/** The duration rounded up. */
export const wholeMs = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), LONGEST_MS);

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
