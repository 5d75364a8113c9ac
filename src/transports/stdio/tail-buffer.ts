/** Keeps the last bytes of a stream in fixed memory, at a constant cost per byte. */

/** Keeps at least the last `keptBytes`, and at most twice that. */
export class TailBuffer {
  readonly #keptBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;

  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes;
  }

  add(part: Uint8Array): void {
    const kept = this.#keptBytes;
    const fresh = part.length > kept ? part.subarray(part.length - kept) : part;
    // Allocated on first use, because most processes write little or nothing.
    if (this.#bytes.length === 0) this.#bytes = Buffer.allocUnsafeSlow(2 * kept);
    if (this.#used + fresh.length > this.#bytes.length) {
      const from = Math.max(0, this.#used - kept);
      this.#bytes.copyWithin(0, from, this.#used);
      this.#used -= from;
    }
    this.#bytes.set(fresh, this.#used);
    this.#used += fresh.length;
  }

  /** The last bytes, `count` at most. */
  last(count: number): Buffer {
    return this.#bytes.subarray(Math.max(0, this.#used - count), this.#used);
  }
}
