/** What a person sees of the arguments of a call before they approve it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { showArguments } from "./decide-call.js";

const show = (args: Record<string, unknown>, declared?: unknown) => showArguments(args, declared);

describe("arguments in a question", () => {
  it("are shown in full if they are short", () => {
    const args = { path: "/a", list: [1, { b: null }], ["line\nbreak"]: true };
    expect(show(args)).toEqual({ text: JSON.stringify(args), isShortened: false });
  });

  it.each<[string, Record<string, unknown>]>([
    ["a long text", { note: "x".repeat(2_000_000) }],
    ["a long list", { list: Array.from({ length: 20_000 }, (_, index) => `item ${index}`) }],
    [
      "a large object",
      { map: Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`k${index}`, 1])) },
    ],
    ["a deep object", { deep: nested(500, "x".repeat(5_000)) }],
    ["a long name", { ["n".repeat(10_000)]: 1 }],
    [
      "forty long texts",
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`a${index}`, "x".repeat(999)])),
    ],
    ["texts that need escape sequences", { a: "\u{e0041}".repeat(5_000), b: "\n".repeat(5_000) }],
  ])("are not hidden behind %s", (_, before) => {
    const { text, isShortened } = show({ ...before, path: "/etc/passwd" });
    expect(isShortened).toBe(true);
    expect(text).toContain('"path":"/etc/passwd"');
    expect(text).toMatch(/\(\+\d+ (characters|items|fields)\)/);
    expect(text.length).toBeLessThan(3_200);
  });

  it("are shortened inside of lists and objects, too", () => {
    const { text } = show({ files: [{ text: "x".repeat(9_000), path: "/etc/passwd" }, { path: "/home/a" }] });
    expect(text).toMatch(
      /^\{"files":\[\{"text":"x+" \(\+\d+ characters\),"path":"\/etc\/passwd"\},\{"path":"\/home\/a"\}\]\}$/,
    );
  });

  it("say exactly how many characters are missing", () => {
    const { text } = show({ note: "x".repeat(9_000) });
    const [, shown, missing] = /"(x+)" \(\+(\d+) characters\)/.exec(text)!;
    expect(shown!.length + Number(missing)).toBe(9_000);
  });

  it("are counted if there are too many, and the declared ones come first", () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`filler${index}`, "x".repeat(20)]),
    );
    const { text } = show({ ...many, path: "/etc/passwd" }, { path: { type: "string" } });
    expect(text).toMatch(/^\{"path":"\/etc\/passwd",/);
    expect(text).toMatch(/ \(\+\d+ arguments\)\}$/);
  });

  it("have no invisible characters", () => {
    expect(show({ path: "a\u202eb\u2028c" }).text).toBe('{"path":"a\\u{202e}b\\u{2028}c"}');
  });

  it("stay within the limit, with the name of every argument", () => {
    const name = fc.stringMatching(/^[a-z]{1,12}$/);
    const value = fc.oneof(fc.jsonValue(), fc.string({ minLength: 500, maxLength: 3_000, unit: "binary" }));
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 40 }), (args) => {
        const { text } = show(args);
        expect(text.length).toBeLessThan(3_500);
        for (const key of Object.keys(args)) expect(text).toContain(`"${key}":`);
      }),
    );
  });
});

function nested(levels: number, value: unknown): unknown {
  return levels === 0 ? value : { a: nested(levels - 1, value) };
}
