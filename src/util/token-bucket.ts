/** A bucket of tokens: what is taken must have been there, what comes back never overflows it. */

export interface TokenBucketOptions {
  /** Most tokens it holds; it starts full. */
  capacity: number;
  /** Tokens that come back by themselves. @default 0 */
  perSecond?: number;
  /** A clock in milliseconds that never goes back. @default performance.now */
  now?: () => number;
}

/** Without `perSecond` a budget that only success refills, with it a rate limit with bursts. */
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

  /** Takes `cost` tokens, or none and says false. */
  take(cost: number): boolean {
    if (this.tokens < cost) return false;
    this.#tokens -= cost;
    return true;
  }

  /** Puts tokens back. */
  give(amount: number): void {
    this.#tokens = Math.min(this.#capacity, this.tokens + amount);
  }

  /** How long until `cost` tokens are there, if nobody else takes any; `Infinity` if that never happens. */
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
