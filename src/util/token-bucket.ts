/** A token bucket: a rate limit with bursts, or a budget that only success refills. */

export interface TokenBucketOptions {
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
