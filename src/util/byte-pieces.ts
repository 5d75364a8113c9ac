/** Text in several pieces of bytes, read without joining them. Needs Node. */

import { joinBytes } from "./chunk-list.js";
import { NO_END, NOT_VALID, StringEnd } from "./json-strings.js";
import { toBuffer } from "./node-bytes.js";

const QUOTE = 0x22;

/** Places are counted from the beginning of the first piece. */
export class BytePieces {
  readonly #pieces: readonly Buffer[];
  /** The place of the first byte of each piece. */
  readonly #starts: readonly number[];
  readonly length: number;

  private constructor(pieces: readonly Buffer[]) {
    let length = 0;
    this.#pieces = pieces;
    this.#starts = pieces.map((piece) => {
      length += piece.length;
      return length - piece.length;
    });
    this.length = length;
  }

  /**
   * @param least the last piece is joined with the one before it if it has fewer bytes
   * @returns undefined in runtimes other than Node, and if there are no pieces
   */
  static of(pieces: readonly Uint8Array[], least: number): BytePieces | undefined {
    const last = pieces.at(-1);
    if (last === undefined) return undefined;
    const isShort = pieces.length > 1 && last.length < least;
    const joined = isShort ? [...pieces.slice(0, -2), joinBytes(pieces.slice(-2))] : pieces;
    const buffers = joined.map(toBuffer).filter((buffer) => buffer !== undefined);
    return buffers.length === joined.length ? new BytePieces(buffers) : undefined;
  }

  get first(): Buffer {
    return this.#pieces[0]!;
  }

  get last(): Buffer {
    return this.#pieces.at(-1)!;
  }

  /** The place of the next quote. -1 if there is none. */
  quoteAfter(from: number): number {
    for (let index = this.#pieceAt(from); index < this.#pieces.length; index += 1) {
      const start = this.#starts[index]!;
      const found = this.#pieces[index]!.indexOf(QUOTE, Math.max(0, from - start));
      if (found !== -1) return start + found;
    }
    return -1;
  }

  /** The place of the quote that closes a JSON string. -1 if the string is not valid. @param opening the place of its first quote */
  closingQuote(opening: number): number {
    const end = new StringEnd();
    for (let index = this.#pieceAt(opening + 1); index < this.#pieces.length; index += 1) {
      const start = this.#starts[index]!;
      const found = end.find(this.#pieces[index]!, Math.max(0, opening + 1 - start));
      if (found === NOT_VALID) return -1;
      if (found !== NO_END) return start + found;
    }
    return -1;
  }

  text(from: number, to: number): string {
    // Pieces with characters of several bytes are not cut inside of one.
    return this.slices(from, to)
      .map((slice) => slice.toString("utf8"))
      .join("");
  }

  slices(from: number, to: number): Buffer[] {
    const slices: Buffer[] = [];
    for (
      let index = this.#pieceAt(from);
      index < this.#pieces.length && this.#starts[index]! < to;
      index += 1
    ) {
      const start = this.#starts[index]!;
      slices.push(this.#pieces[index]!.subarray(Math.max(0, from - start), to - start));
    }
    return slices;
  }

  #pieceAt(place: number): number {
    let index = 0;
    while (index + 1 < this.#starts.length && this.#starts[index + 1]! <= place) index += 1;
    return index;
  }
}
