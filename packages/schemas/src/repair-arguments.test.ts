import { expect, test } from "vitest";
import { argumentRows } from "../../../test/support/argument-cases.js";
import { repairArguments } from "./create-validator.js";

test.each(argumentRows)(
  "%s: %s",
  async (_id, _title, { schema, arguments: args, expect: expected, added }) => {
    const copy = structuredClone(args);
    const outcome = await repairArguments(schema, args);
    expect(args).toEqual(copy);
    if (expected.outcome === "refused") {
      expect(outcome.issues.length).toBeGreaterThan(0);
      expect(outcome.args).toBe(args);
      if (expected.issue !== undefined)
        expect(outcome.issues.map(({ path }) => path)).toContain(expected.issue);
      return;
    }
    expect(outcome.issues).toEqual([]);
    expect({ ...outcome.args, ...added }).toEqual(expected.arguments);
    if (expected.outcome !== "repaired") expect(outcome.args).toBe(args);
    else expect(outcome.repaired).toEqual(expected.repairs ?? outcome.repaired);
    expect(outcome.repaired.length > 0).toBe(expected.outcome === "repaired");
  },
);
