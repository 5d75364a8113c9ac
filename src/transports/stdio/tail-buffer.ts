/** The last bytes of a stream, in fixed memory and at a constant cost a byte. */

/** Keeps at least the last `keptBytes` of all that was added, and never more than twice that. */
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
    // Most processes write little or nothing, so the memory is taken only when needed.
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
