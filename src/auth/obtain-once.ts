/** Lets one process of many obtain something, and the others use what it got. */
import type { Lease, Store } from "../state/store.js";
import { sleep } from "../util/sleep.js";

export interface ObtainParts<T> {
  readonly store: Store;
  /** Name of the lease. */
  readonly lease: string;
  /** The record that changes when somebody has it. */
  readonly watch: string;
  /** What is there already, if it will do. */
  find(): Promise<T | undefined>;
  /** Gets it; undefined if it cannot be had. Runs alone. */
  obtain(lease: Lease): Promise<T | undefined>;
  /** How long another may take. @default 30000 */
  readonly waitMs?: number;
}

/**
 * Whoever is killed with the lease holds the others up for so long, where the store cannot tell that it is dead. It is
 * renewed at a third of this, so a process may stand still for a few seconds and keep it: if another took over meanwhile, a
 * refresh token might be sent twice, which many authorization servers take for theft.
 */
const LEASE_MS = 6_000;
const FIRST_LOOK_MS = 25;
const LAST_LOOK_MS = 500;

/** `"late"`: somebody else is at it and does not come to an end. */
export async function obtainOnce<T>(parts: ObtainParts<T>): Promise<T | undefined | "late"> {
  const take = () => parts.store.lease(parts.lease, { ttlMs: LEASE_MS });
  const first = await take();
  if (first !== undefined) return obtainUnderLease(parts, first);
  const deadline = Date.now() + (parts.waitMs ?? 30_000);
  const changes = listen(parts.store, parts.watch);
  try {
    for (let pauseMs = FIRST_LOOK_MS; Date.now() < deadline; pauseMs = Math.min(pauseMs * 2, LAST_LOOK_MS)) {
      await changes.next(pauseMs);
      const found = await parts.find();
      if (found !== undefined) return found;
      const lease = await take();
      if (lease !== undefined) return await obtainUnderLease(parts, lease);
    }
    return "late";
  } finally {
    changes.stop();
  }
}

async function obtainUnderLease<T>({ find, obtain }: ObtainParts<T>, lease: Lease): Promise<T | undefined> {
  const timer = setInterval(() => void lease.renew().catch(() => {}), LEASE_MS / 3);
  if (typeof timer === "object") timer.unref?.();
  try {
    // It may have been there before us.
    return (await find()) ?? (await obtain(lease));
  } finally {
    clearInterval(timer);
    await lease.release();
  }
}

interface Changes {
  /** Resolves at the next change, or after this time. */
  next(ms: number): Promise<void>;
  stop(): void;
}

function listen(store: Store, prefix: string): Changes {
  let wake = new AbortController();
  const stop = store.watch(prefix, () => wake.abort());
  return {
    async next(ms) {
      await sleep(ms, wake.signal).catch(() => {});
      if (wake.signal.aborted) wake = new AbortController();
    },
    stop,
  };
}

export function singleFlight<T>(
  running: Map<string, Promise<T>>,
  key: string,
  run: () => Promise<T>,
): Promise<T> {
  const known = running.get(key);
  if (known !== undefined) return known;
  const started = run().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}
