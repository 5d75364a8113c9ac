/** The rules of schema derivation on random schemas, which cover more than those of real servers. */
import { describe, expect, it } from "vitest";
import { RULE_TARGETS } from "../support/provider-refusals.js";
import { createSeededRandom } from "../support/random.js";
import { checkLaws } from "./derived-schema-laws.js";
import { makeUpRoot } from "./made-up-schemas.js";

/** Run more with `SCHEMA_COUNT=2000 npx vitest run …`. */
const COUNT = Number(process.env["SCHEMA_COUNT"] ?? 150);

describe.each(RULE_TARGETS)("%s", (target) => {
  it("keeps the rules for random schemas", () => {
    let [values, strict] = [0, 0];
    const wrong: unknown[] = [];
    for (let seed = 1; seed <= COUNT; seed++) {
      const schema = makeUpRoot(createSeededRandom(seed));
      const { derived, refused, lost, gained, tried } = checkLaws(schema, target, { seed, rounds: 20 });
      values += tried.original + tried.derived;
      if (derived.strict) strict++;
      // A type that other keywords imply narrows the schema on purpose, and is in the report.
      const isNarrowed = derived.changes.some(({ what }) => what === "typed");
      if (refused.length > 0 || gained.length > 0 || (lost.length > 0 && !isNarrowed))
        wrong.push({
          seed,
          refused,
          lost: lost[0],
          gained: gained[0],
          schema,
          derived: derived.schema,
          changes: derived.changes,
        });
    }
    if (process.env["SCHEMA_FIGURES"]) console.log(target, { schemas: COUNT, values, strict });
    expect(wrong.slice(0, 2)).toEqual([]);
    expect(values).toBeGreaterThan(COUNT * 10);
  });
});
