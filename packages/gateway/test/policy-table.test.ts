/** The table of policy cases against the compiled rules, without a gateway. */
import { describe, expect, it } from "vitest";
import { readPolicy } from "../src/policy/read-policy.js";
import { POLICY_CASES } from "./policy-cases.js";

describe("policy cases", () => {
  it("has thirty cases", () => expect(POLICY_CASES).toHaveLength(30));

  it.each(POLICY_CASES)(
    "$title",
    async ({ policy: document, user, scopes, server, tool, args, ...wanted }) => {
      // As an object and as the text of a file.
      for (const source of [document, JSON.stringify(document)]) {
        const policy = await readPolicy(source);
        const who = { principal: user, scopes, server, tool };
        const listed = await policy.decide({ ...who, method: "tools/list" });
        const called = await policy.decide({ ...who, method: "tools/call", args });
        expect(listed.effect !== "deny").toBe(wanted.isListed);
        expect(called.effect).toBe(wanted.called);
        if (wanted.reason !== undefined) expect(called.reason).toContain(wanted.reason);
        if (called.effect !== "allow") expect(called.reason).toBeTruthy();
      }
    },
  );
});
