/** Ten characters that distinguish two tools in their names: the same in every process and every version. */

/** Base 32 without i, l, o and u: no two of its characters look alike. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH = 10;
const encoder = new TextEncoder();

/** FNV-1a, 64 bits, over the UTF-8 bytes, in two halves. http://www.isthe.com/chongo/tech/comp/fnv/ */
function fnv1a64(text: string): readonly [high: number, low: number] {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of encoder.encode(text)) {
    low = (low ^ byte) >>> 0;
    // The prime is 2^40 + 0x1b3; all products stay below 2^53, where numbers are exact.
    const product = low * 0x1b3;
    high = (high * 0x1b3 + Math.floor(product / 0x1_0000_0000) + low * 0x100) % 0x1_0000_0000;
    low = product % 0x1_0000_0000;
  }
  return [high, low];
}

/**
 * A fingerprint of 50 bits: FNV-1a 64 over UTF-8, its upper 14 bits XORed into the lower 50 (the fold its authors
 * recommend), written as ten digits of base 32, most significant first. Users and models store names, so this must
 * never change. Among 100,000 tools the probability of a collision is about 1 in 200,000. It can be forged, so
 * callers check that the name is free.
 */
export function fingerprint(text: string): string {
  const [high, low] = fnv1a64(text);
  let value = (high % 0x4_0000) * 0x1_0000_0000 + ((low ^ (high >>> 18)) >>> 0);
  let digits = "";
  for (let index = 0; index < LENGTH; index += 1) {
    digits = DIGITS[value % 32]! + digits;
    value = Math.floor(value / 32);
  }
  return digits;
}
