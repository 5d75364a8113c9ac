/** Work shared by callers, and limits on how much runs at once. */
import { getOrMake } from "./collections.js";

export interface Loader<Loaded> {
  (): Promise<Loaded>;
  /** Undefined before the first load, and after one that failed. */
  current?: Promise<Loaded> | undefined;
}

/** Loads on first use, once for all callers. After a failure, which may be temporary, the next caller tries again. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): Loader<Loaded> {
  const loader: Loader<Loaded> = () => {
    loader.current ??= load().catch((error: unknown) => {
      loader.current = undefined;
      throw error;
    });
    return loader.current;
  };
  return loader;
}

/** Runs once per key at a time; concurrent callers share the promise. */
export const singleFlight = <T>(
  running: Map<string, Promise<T>>,
  key: string,
  run: () => Promise<T>,
): Promise<T> => getOrMake(running, key, () => run().finally(() => running.delete(key)));

/** Runs `task` for every item, at most `limit` at a time. Results keep the order of the items. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await task(items[index] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

interface TokenBucketOptions {
  /** Maximum number of tokens; the bucket starts full. */
  capacity: number;
  /** Tokens added per second. @default 0 */
  perSecond?: number;
  /** A monotonic clock in milliseconds. @default performance.now */
  now?: () => number;
}

/** With `perSecond` a rate limit; without it a budget that only {@link give} refills. */
export class TokenBucket {
  readonly #capacity: number;
  readonly #perMs: number;
  readonly #now: () => number;
  #tokens: number;
  #countedAt: number;

  constructor({ capacity, perSecond = 0, now = () => performance.now() }: TokenBucketOptions) {
    this.#capacity = capacity;
    this.#perMs = perSecond / 1_000;
    this.#now = now;
    this.#tokens = capacity;
    this.#countedAt = perSecond > 0 ? now() : 0;
  }

  get tokens(): number {
    this.#refill();
    return this.#tokens;
  }

  /** Takes `cost` tokens; false if there are fewer. */
  take(cost: number): boolean {
    if (this.tokens < cost) return false;
    this.#tokens -= cost;
    return true;
  }

  /** Adds tokens, up to the capacity. */
  give(amount: number): void {
    this.#tokens = Math.min(this.#capacity, this.tokens + amount);
  }

  /** How long until `cost` tokens are available if no other caller takes any; `Infinity`: never. */
  waitMs(cost: number): number {
    const missing = cost - this.tokens;
    if (missing <= 0) return 0;
    return this.#perMs > 0 && cost <= this.#capacity ? Math.ceil(missing / this.#perMs) : Infinity;
  }

  #refill(): void {
    if (this.#perMs === 0) return;
    const now = this.#now();
    this.#tokens = Math.min(this.#capacity, this.#tokens + (now - this.#countedAt) * this.#perMs);
    this.#countedAt = now;
  }
}
