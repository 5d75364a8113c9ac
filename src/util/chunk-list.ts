/** Bytes that came in pieces, kept without a copy unless the pieces are absurdly small. */

/** So many pieces in a row are joined, so that one byte a piece does not cost a hundred. */
const JOIN_AT = 256;
const SMALL_BYTES = 1_024;

export class ChunkList {
  #pieces: Uint8Array[] = [];
  /** Small pieces at the end of the list that are not joined yet. */
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
    this.#pieces.push(join(this.#pieces.splice(-this.#loose), this.#looseBytes));
    this.#loose = this.#looseBytes = 0;
  }

  /** Empties the list. */
  takePieces(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.byteLength = this.#loose = this.#looseBytes = 0;
    return pieces;
  }

  /** Empties the list; at most `maxBytes` of it, in one block. */
  takeBlock(maxBytes = Number.POSITIVE_INFINITY): Uint8Array {
    const length = Math.min(this.byteLength, maxBytes);
    return join(this.takePieces(), length);
  }
}

/** Where there is a way to memory that is not set to zero first, which is half the cost of a large block. */
const allocate: (length: number) => Uint8Array =
  typeof Buffer === "undefined" ? (length) => new Uint8Array(length) : Buffer.allocUnsafe;

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) {
    return first.byteLength === length ? first : first.subarray(0, length);
  }
  const whole = allocate(length);
  let offset = 0;
  for (const piece of pieces) {
    const room = length - offset;
    whole.set(piece.byteLength <= room ? piece : piece.subarray(0, room), offset);
    offset += Math.min(piece.byteLength, room);
  }
  return whole;
}
