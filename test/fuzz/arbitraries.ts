// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a text that looks like a variable
/** Input of a hostile or broken server: arbitrary JSON, and almost valid messages. */
import fc from "fast-check";

/** Keys that have caused bugs before. */
const ODD_KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "toJSON",
  "then",
  "",
  "length",
  "0",
  "\u0000",
];

/** Texts that are difficult for terminals, models and parsers. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 24 }),
  fc.constantFrom(
    "",
    " ",
    "\ud800",
    "\u202e",
    "\u001b[31m",
    "${X}",
    "null",
    "[]",
    "{}",
    "9".repeat(400),
    "a/b#c?d=e",
  ),
);

/** JSON as received: with own `__proto__` keys, without undefined. */
export const wireValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 20, arbitrary: fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 12_000 }), fc.boolean())
      .map(([depth, list]) => nested(depth, list)),
  },
  { weight: 3, arbitrary: oddText },
);

/** Deeper than the stack allows: a parser may read it although a recursive function cannot. */
function nested(depth: number, list: boolean): unknown {
  const [open, close] = list ? ["[", "]"] : ['{"a":', "}"];
  const value: object = JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`);
  // fast-check's own printer is one of those that overflow.
  return Object.defineProperty(value, fc.toStringMethod, { value: () => `nested(${depth}, ${list})` });
}

const pairOf = (key: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<[string, unknown]> =>
  value.map((made) => [key, made]);

/** An object with some of these keys, with valid, odd or arbitrary values, and sometimes a dangerous key. */
export function almost(
  fields: Record<string, fc.Arbitrary<unknown>>,
  { maxKeys = Object.keys(fields).length } = {},
): fc.Arbitrary<Record<string, unknown>> {
  const keys = Object.keys(fields);
  const pair = fc.oneof(
    { weight: 10, arbitrary: fc.oneof(...keys.map((key) => pairOf(key, fields[key]!))) },
    { weight: 1, arbitrary: fc.tuple(fc.oneof(fc.constantFrom(...keys, ...ODD_KEYS), oddText), wireValue) },
  );
  return fc.uniqueArray(pair, { selector: ([key]) => key, maxLength: maxKeys, size: "medium" }).map(parsed);
}

/** Defined, not assigned, so that `__proto__` becomes an own property, as in parsed JSON. */
function parsed(entries: [string, unknown][]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  return object;
}

const uri = fc.oneof(fc.constantFrom("file:///a.txt", "docs://x?y#z", "data:,", "http://[::1"), oddText);
const mimeType = fc.constantFrom(
  "image/png",
  "audio/wav",
  "application/pdf",
  "text/plain",
  "x",
  "/",
  "image/",
);
const base64 = fc.oneof(fc.constantFrom("", "=", "==", "AAAA", "AA=="), fc.base64String({ maxLength: 24 }));

/** One block of content, or something near it. */
export const contentBlock: fc.Arbitrary<Record<string, unknown>> = almost({
  type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "video", "tool_use"),
  text: oddText,
  data: base64,
  mimeType,
  uri,
  name: oddText,
  title: oddText,
  description: oddText,
  resource: almost({ uri, text: oddText, blob: base64, mimeType }),
  annotations: wireValue,
  _meta: wireValue,
});
