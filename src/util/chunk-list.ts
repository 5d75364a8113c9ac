/** A list of byte chunks that copies only to merge many tiny ones. */

/** This many small chunks in a row are merged: every chunk has a fixed overhead of about 100 bytes. */
const JOIN_AT = 256;
const SMALL_BYTES = 1_024;

export class ChunkList {
  #pieces: Uint8Array[] = [];
  /** Number of small chunks at the end of the list that are not merged yet. */
  #loose = 0;
  #looseBytes = 0;
  byteLength = 0;

  push(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.byteLength += bytes.byteLength;
    if (bytes.byteLength > SMALL_BYTES) {
      this.#loose = this.#looseBytes = 0;
      return;
    }
    this.#loose++;
    this.#looseBytes += bytes.byteLength;
    if (this.#loose < JOIN_AT) return;
    this.#pieces.push(joinBytes(this.#pieces.splice(-this.#loose), this.#looseBytes));
    this.#loose = this.#looseBytes = 0;
  }

  /** Removes and returns all chunks. */
  takePieces(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.byteLength = this.#loose = this.#looseBytes = 0;
    return pieces;
  }

  /** Removes all chunks and returns at most `maxBytes` of them as one block. */
  takeBlock(maxBytes = Number.POSITIVE_INFINITY): Uint8Array {
    const length = Math.min(this.byteLength, maxBytes);
    return joinBytes(this.takePieces(), length);
  }
}

/** Uses uninitialized memory where available: zeroing is half the cost of a large block. */
const allocate: (length: number) => Uint8Array =
  typeof Buffer === "undefined" ? (length) => new Uint8Array(length) : Buffer.allocUnsafe;

/** The first `length` bytes. Copies nothing if there is one piece. */
function joinBytes(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) {
    return first.byteLength === length ? first : first.subarray(0, length);
  }
  const whole = allocate(length);
  let offset = 0;
  for (const piece of pieces) {
    const left = length - offset;
    whole.set(piece.byteLength <= left ? piece : piece.subarray(0, left), offset);
    offset += Math.min(piece.byteLength, left);
  }
  return whole;
}
