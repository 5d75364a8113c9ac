/** Finds the end of JSON strings in ASCII or UTF-8 without decoding them: most of the time, sixteen bytes at once. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const LETTER_U = 0x75;
/** `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

/** The string has no end in these bytes. */
export const NO_END = -1;
/** A control character, or an unknown escape. */
export const NOT_VALID = -2;

/** What the next byte has to be: part of an escape that has begun, or anything. */
const ANY = 0;
const ESCAPED = -1;
/** Greater numbers: that many hexadecimal digits. */
const FOUR_DIGITS = 4;

/** Finds the end of one string, which may be in several pieces. */
export class StringEnd {
  #expected = ANY;

  /**
   * The index of the closing quote, `NO_END` or `NOT_VALID`. After `NO_END`, continues with the next piece.
   *
   * @param from in the first piece, the index after the opening quote
   */
  find(bytes: Uint8Array, from: number): number {
    const words = wordsOf(bytes);
    const shift = words.byteOffset - bytes.byteOffset;
    for (let at = from; at < bytes.length; at += 1) {
      if (this.#expected !== ANY) {
        if (!this.#continueEscape(bytes[at]!)) return NOT_VALID;
        continue;
      }
      if (((at - shift) & 3) === 0) at = shift + 4 * skipPlain(words, (at - shift) >> 2);
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) this.#expected = ESCAPED;
      else if (byte !== undefined && byte < FIRST_PRINTABLE) return NOT_VALID;
    }
    return NO_END;
  }

  #continueEscape(byte: number): boolean {
    if (this.#expected > 0) {
      this.#expected -= 1;
      return isHexDigit(byte);
    }
    this.#expected = byte === LETTER_U ? FOUR_DIGITS : ANY;
    return byte === LETTER_U || SHORT_ESCAPES.has(byte);
  }
}

/** The bytes as numbers of four bytes each, without the first and the last ones that do not fit. */
function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array {
  const shift = -byteOffset & 3;
  const count = (byteLength - shift) >> 2;
  return count <= 0 ? NO_WORDS : new Int32Array(buffer, byteOffset + shift, count);
}

const NO_WORDS = new Int32Array(0);

/** @returns the first word of four that need a closer look */
function skipPlain(words: Int32Array, from: number): number {
  let at = from;
  for (; at <= words.length - 4; at += 4) {
    const special = marks(words[at]!) | marks(words[at + 1]!) | marks(words[at + 2]!) | marks(words[at + 3]!);
    if ((special & 0x80808080) !== 0) return at;
  }
  return at;
}

/**
 * The highest bit of at least one byte is set if a byte is a control character, a quote or a backslash. It may also be set for
 * others, for instance if a byte is not ASCII.
 */
const marks = (word: number): number =>
  (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101);

const isHexDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
