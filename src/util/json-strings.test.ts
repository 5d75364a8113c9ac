import fc from "fast-check";
import { expect, test } from "vitest";
import { NO_END, NOT_VALID, StringEnd } from "./json-strings.js";

const encoder = new TextEncoder();

/** The end of the string that begins with the first byte, at every position relative to the words of the buffer. */
function endsOf(json: Uint8Array): number[] {
  return [0, 1, 2, 3].map((shift) => {
    const padded = new Uint8Array(json.length + shift + 5);
    padded.set(json, shift);
    return new StringEnd().find(padded.subarray(shift, shift + json.length), 1);
  });
}

/** The same, if the bytes come in two pieces. */
function endInPieces(json: Uint8Array, cut: number): number {
  const end = new StringEnd();
  const first = end.find(json.subarray(0, cut), 1);
  if (first !== NO_END) return first;
  const second = end.find(json.subarray(cut), 0);
  return second < 0 ? second : cut + second;
}

const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
};

test("finds the end of every string, in one piece and in two", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  fc.assert(
    fc.property(text, fc.string({ maxLength: 10 }), fc.nat(), (text, rest, place) => {
      const end = encoder.encode(JSON.stringify(text)).length - 1;
      const json = encoder.encode(`${JSON.stringify(text)}${rest}`);
      expect(endsOf(json)).toEqual(Array(4).fill(end));
      expect(endInPieces(json, 1 + (place % json.length))).toBe(end);
    }),
  );
});

test("accepts exactly the strings that JSON.parse accepts", () => {
  const piece = fc.constantFrom(
    ...["\\", '"', "u", "n", "x", "0", "aF9", "\n", "\u0000", "\u001f", " ", "plain", "é", "🙂"],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(), (pieces, place) => {
      const json = encoder.encode(`"${pieces.join("")}"`);
      const [end, ...others] = endsOf(json);
      expect([...others, endInPieces(json, 1 + (place % json.length))]).toEqual(Array(4).fill(end));
      if (end! < 0) expect(isJson(json)).toBe(false);
      else expect(isJson(json.subarray(0, end! + 1))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test.each(['"', '"abc', '"abc\\', '"abc\\u12', `"${"x".repeat(1_000)}`])(
  "a string without an end: %j",
  (text) => {
    expect(endsOf(encoder.encode(text))).toEqual(Array(4).fill(NO_END));
  },
);

test.each(['"a\u0000', '"a\\x', '"\\u12x4', `"${"x".repeat(1_000)}\n"`])(
  "a string that is not valid: %j",
  (text) => {
    expect(endsOf(encoder.encode(text))).toEqual(Array(4).fill(NOT_VALID));
  },
);
