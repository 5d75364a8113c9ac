/** Conditions on arguments, compared with a plain evaluator: no accepted condition may fail to hold where it should. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ArgumentCondition, ArgumentTest, PolicyEffect } from "./policy.js";
import { readPolicy } from "./read-policy.js";

const scalar = fc.constantFrom<(string | number | boolean | null)[]>(
  "a",
  "AB",
  "ab",
  "5",
  "true",
  "",
  0,
  5,
  7.5,
  true,
  null,
);
const pattern = fc.constantFrom("a", "a*", "*b", "?", "*", "5", "true");

const { condition } = fc.letrec<{ condition: ArgumentCondition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar.filter((value) => value !== ""),
    fc.record(
      {
        glob: fc.oneof(pattern, fc.uniqueArray(pattern, { minLength: 1, maxLength: 2 })),
        regex: fc.constantFrom("a", "^b", "\\d", "B$"),
        equals: scalar,
        min: fc.integer({ min: -1, max: 8 }),
        max: fc.integer({ min: -1, max: 8 }),
        ignoreCase: fc.boolean(),
        present: fc.boolean(),
        not: tie("condition"),
        match: fc.constantFrom("every", "some"),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<ArgumentTest>,
  ),
}));
const argument = fc.oneof(
  scalar,
  fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 }),
);
const args = fc.oneof(
  fc.constant<Record<string, unknown>>({}),
  argument.map((a) => ({ a })),
);

it("hold exactly where a plain evaluator says so", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(
      condition,
      fc.array(args, { minLength: 4, maxLength: 8 }),
      fc.constantFrom<PolicyEffect[]>("allow", "deny", "approve"),
      async (wanted, calls, effect) => {
        const otherwise = effect === "allow" ? "deny" : "allow";
        const policy = await readPolicy({
          default: otherwise,
          rules: [{ effect, args: { "/a": wanted } }],
        }).catch(() => undefined);
        if (policy === undefined) return;
        accepted++;
        for (const call of calls) {
          const decision = await policy.decide({ method: "tools/call", server: "s", tool: "t", args: call });
          expect(decision.effect, JSON.stringify(call)).toBe(
            applies(wanted, call, effect) ? effect : otherwise,
          );
        }
      },
    ),
    { numRuns: 2_000 },
  );
  expect(accepted).toBeGreaterThan(200);
});

function applies(wanted: ArgumentCondition, call: Record<string, unknown>, effect: PolicyEffect): boolean {
  const values = "a" in call ? valuesOf(call["a"]) : [];
  const { present, match = effect === "allow" ? "every" : "some" } = toTest(wanted);
  if (present === false) return values.length === 0;
  if (values.length === 0) return false;
  return match === "every"
    ? values.every((value) => holds(wanted, value))
    : values.some((value) => holds(wanted, value));
}

/** An array stands for its elements, and an empty one for itself. */
const valuesOf = (value: unknown): unknown[] =>
  Array.isArray(value) && value.length > 0 ? value.flatMap(valuesOf) : [value];

function toTest(wanted: ArgumentCondition): ArgumentTest {
  if (typeof wanted === "string") return { glob: wanted };
  return typeof wanted === "object" && wanted !== null ? wanted : { equals: wanted };
}

function holds(wanted: ArgumentCondition, value: unknown): boolean {
  const { glob, regex, equals, min, max, ignoreCase, present, not } = toTest(wanted);
  const flags = ignoreCase === true ? "isu" : "su";
  const text = ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
  const number =
    text === undefined || text.trim() === "" || typeof value === "boolean" ? Number.NaN : Number(text);
  const results = [
    glob === undefined ||
      [glob].flat().some((each) => text !== undefined && new RegExp(`^${toSource(each)}$`, flags).test(text)),
    regex === undefined || (text !== undefined && new RegExp(regex, flags).test(text)),
    equals === undefined ||
      (typeof equals === "number" ? number === equals : value === equals) ||
      (typeof equals === "boolean" && value === String(equals)),
    min === undefined || number >= min,
    max === undefined || number <= max,
    // A value is there.
    present !== false,
    not === undefined || !holds(not, value),
  ];
  return results.every(Boolean);
}

const toSource = (glob: string): string => glob.replaceAll("*", ".*").replaceAll("?", ".");
