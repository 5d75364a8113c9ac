/** One process obtains something under a lease; all others get its result. */

import { sleep, unrefTimer } from "@toolport/base";
import type { Lease, Store } from "@toolport/stores";

interface ObtainParts<T> {
  readonly store: Store;
  /** Name of the lease. */
  readonly lease: string;
  /** Key of the record that changes when it has been obtained. */
  readonly watch: string;
  /** The existing value, if it can be used. */
  find(): Promise<T | undefined>;
  /** Obtains it; undefined if that is not possible. Runs under the lease. */
  obtain(lease: Lease): Promise<T | undefined>;
  /** How long to wait for another process. @default 30000 */
  readonly waitMs?: number;
}

/**
 * If a process dies with the lease, the others wait at most this long. The lease is renewed at a third of this time, so a
 * process may be suspended for a few seconds without losing it. If another process took over meanwhile, a refresh token
 * could be sent twice, which many authorization servers treat as theft.
 */
const LEASE_MS = 6_000;
const FIRST_LOOK_MS = 25;
const LAST_LOOK_MS = 500;

/** Resolves with `"late"` if another process holds the lease and does not finish in time. */
export async function obtainOnce<T>(parts: ObtainParts<T>): Promise<T | undefined | "late"> {
  const take = () => parts.store.lease(parts.lease, { ttlMs: LEASE_MS });
  const first = await take();
  if (first !== undefined) return obtainUnderLease(parts, first);
  const deadline = Date.now() + (parts.waitMs ?? 30_000);
  const changes = watchRecord(parts.store, parts.watch);
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
  const timer = unrefTimer(setInterval(() => void lease.renew().catch(() => {}), LEASE_MS / 3));
  try {
    // Another process may have obtained it before we got the lease.
    return (await find()) ?? (await obtain(lease));
  } finally {
    clearInterval(timer);
    await lease.release();
  }
}

function watchRecord(store: Store, prefix: string) {
  let wake = new AbortController();
  const stop = store.watch(prefix, () => wake.abort());
  return {
    /** Resolves at the next change, or after `ms`. */
    async next(ms: number): Promise<void> {
      await sleep(ms, wake.signal).catch(() => {});
      if (wake.signal.aborted) wake = new AbortController();
    },
    stop,
  };
}
