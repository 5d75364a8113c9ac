/** The resume value of interrupts. */
import { expect, test } from "vitest";
import { createResume, type InterruptValue, isToolportInterrupt } from "./interrupts.js";

const token = (letter: string) => `tpc1.${letter.repeat(43)}`;
const listing = (...letters: string[]): InterruptValue => ({
  type: "toolport/suspended",
  calls: letters.map((letter) => ({ token: token(letter) }) as never),
});
const [A, B, C] = [token("a"), token("b"), token("c")];
const yes = { approve: true };
const no = { approve: false };
const interrupts = [
  { id: "1", value: listing("a", "b") },
  { id: "2", value: "of another tool" },
  { value: listing("c") },
  { id: "4", value: listing("c") },
];

test("gives every answer to the interrupt that lists its token", () => {
  expect(createResume(interrupts, { [C]: no, [B]: yes })).toEqual({ "1": { [B]: yes }, "4": { [C]: no } });
  expect(createResume(interrupts, { [A]: yes, [B]: no })).toEqual({ "1": { [A]: yes, [B]: no } });
});

test("takes tokens of programs", () => {
  const program = `tpp1.${"p".repeat(43)}`;
  const value = { type: "toolport/suspended", calls: [{ token: program }] };
  expect(createResume([{ id: "1", value }], { [program]: yes })).toEqual({ "1": { [program]: yes } });
});

test.each([
  ["no answers", {}],
  ["a token that no interrupt lists", { [A]: yes, [token("x")]: yes }],
  ["something that is no token", { seat: yes }],
])("throws for %s, without the token in the message", (_title, answers) => {
  try {
    createResume(interrupts, answers);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ name: "ConfigError", code: "INVALID_CONFIG" });
    expect((error as Error).message).not.toContain("tpc1.");
  }
});

test("recognises the value of an interrupt of Toolport", () => {
  expect(isToolportInterrupt(listing("a"))).toBe(true);
  for (const value of [undefined, null, "text", [], {}, { type: "toolport/suspended" }, { calls: [] }])
    expect(isToolportInterrupt(value)).toBe(false);
});
