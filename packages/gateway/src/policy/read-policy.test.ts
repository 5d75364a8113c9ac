/** Mistakes in a policy, and hostile arguments against its conditions. */

import { ConfigError } from "@toolport/base";
import { describe, expect, it } from "vitest";
import type { ArgumentCondition, PolicyDecision, PolicyRule } from "./policy.js";
import { readPolicy } from "./read-policy.js";

const failureOf = (source: unknown): Promise<ConfigError> =>
  readPolicy(source as string, { file: "policy.json" }).then(
    () => expect.fail("the policy was accepted"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ConfigError);
      return error as ConfigError;
    },
  );

describe("a policy with a mistake", () => {
  it.each<[string, unknown, string]>([
    ["no JSON", "{ nonsense", "policy.json:1"],
    ["an array", [], 'must be an object with "default" and "rules"'],
    ["no default", { rules: [] }, "policy.default: is missing"],
    ["no rules", { default: "allow" }, "policy.rules: must be an array"],
    ["an unknown effect", { default: "permit", rules: [] }, 'must be one of "allow", "deny", "approve"'],
    [
      "a misspelled field",
      { default: "allow", rules: [{ effect: "deny", tol: "x" }] },
      'did you mean "tool"?',
    ],
    ["no effect", { default: "allow", rules: [{ tool: "x" }] }, "policy.rules[0].effect: is missing"],
    ["a rule that is no object", { default: "allow", rules: ["deny"] }, "policy.rules[0]: must be an object"],
    ["an empty list", { default: "allow", rules: [{ effect: "deny", server: [] }] }, "must not be empty"],
    [
      "a number as a name",
      { default: "allow", rules: [{ effect: "deny", server: [1] }] },
      "rules[0].server[0]",
    ],
    ["an empty user", { default: "allow", rules: [{ effect: "deny", user: {} }] }, '"issuer" or "subject"'],
    [
      "two kinds",
      { default: "allow", rules: [{ effect: "deny", tool: "a", prompt: "b" }] },
      "so it never applies",
    ],
    [
      "arguments of a resource",
      { default: "allow", rules: [{ effect: "deny", resource: "a", args: { "/a": 1 } }] },
      "resources have no arguments",
    ],
    ["no pointer", withCondition({ path: "x" }), 'must be a JSON pointer that starts with "/"'],
    ["a condition that is a list", withCondition({ "/path": ["x"] }), "must be a text, a number"],
    ["an empty condition", withCondition({ "/path": {} }), "must have one of glob"],
    ["no arguments", withCondition({}), "args: must not be empty"],
    ["a bound that is text", withCondition({ "/n": { max: "5" } }), "must be a number"],
    ["a pattern with look-ahead", withCondition({ "/n": { regex: "a(?=b)" } }), "RE2"],
    ["a pattern inside not", withCondition({ "/n": { not: { regex: "(" } } }), "not.regex: is not a pattern"],
    [
      "presence inside not",
      withCondition({ "/n": { not: { present: true } } }),
      'policy.rules[0].args./n.not.present: has no effect inside "not": write "present": false beside the pointer',
    ],
    ["absence inside not", withCondition({ "/n": { not: { present: false } } }), '"present": true'],
    [
      "presence in nested not",
      withCondition({ "/n": { not: { not: { present: true, min: 1 } } } }),
      "not.not",
    ],
    ["match inside not", withCondition({ "/n": { not: { glob: "a", match: "every" } } }), 'beside "not"'],
    [
      "a condition inside not without a test",
      withCondition({ "/n": { not: { match: "some" } } }),
      "must have one",
    ],
    ["a condition without a test", withCondition({ "/n": { match: "some" } }), "must have one of glob"],
    [
      "case of an exact text",
      withCondition({ "/n": { equals: "A", ignoreCase: true } }),
      "has no effect without",
    ],
    ["case beside not", withCondition({ "/n": { not: "a*", ignoreCase: true } }), "has no effect without"],
    ["an empty range", withCondition({ "/n": { min: 2, max: 1 } }), 'is larger than "max"'],
  ])("is rejected: %s", async (_, source, message) => {
    expect((await failureOf(source)).message).toContain(message);
  });

  it("is reported with all problems and their lines", async () => {
    const text = `{
      // comments are allowed
      "default": "allow",
      "rules": [
        { "effect": "deny", "server": "a",
          "server": "b" },
        { "effect": "maybe" },
      ]
    }`;
    const { issues } = await failureOf(text);
    expect(issues.map(({ file, line, path }) => [file, line, path])).toEqual([
      ["policy.json", 6, "policy.rules[0].server"],
      ["policy.json", 7, "policy.rules[1].effect"],
    ]);
  });
});

function withCondition(args: unknown): unknown {
  return { default: "allow", rules: [{ effect: "deny", args }] };
}

async function decideOn(
  condition: Record<string, ArgumentCondition>,
  args: Record<string, unknown>,
  effect: PolicyRule["effect"],
): Promise<PolicyDecision> {
  const policy = await readPolicy({
    default: effect === "allow" ? "deny" : "allow",
    rules: [{ effect, args: condition }],
  });
  return policy.decide({ method: "tools/call", server: "s", tool: "t", args });
}

describe("conditions on arguments", () => {
  const deep = (levels: number): unknown => {
    let value: unknown = "/home/a";
    for (let level = 0; level < levels; level++) value = [value];
    return value;
  };
  it.each<[string, Record<string, ArgumentCondition>, Record<string, unknown>, boolean]>([
    ["a text is not found in a longer one", { "/a": "x" }, { a: "xy" }, false],
    ["a star matches nothing too", { "/a": "x*y*" }, { a: "xy" }, true],
    ["parts must not overlap", { "/a": "ab*ba" }, { a: "aba" }, false],
    ["a question mark is one character", { "/a": "a?c" }, { a: "a😀c" }, true],
    ["upper case can be ignored", { "/a": { glob: "DROP *", ignoreCase: true } }, { a: "drop table" }, true],
    [
      "a pattern ignores case",
      { "/a": { regex: "drop\\s+table", ignoreCase: true } },
      { a: "x; DROP  TABLE" },
      true,
    ],
    ["a number as text is a number", { "/a": 5 }, { a: "5.0" }, true],
    ["a boolean as text is a boolean", { "/a": true }, { a: "true" }, true],
    ["null is null", { "/a": null }, { a: null }, true],
    ["an empty text is no number", { "/a": { min: -1, max: 1 } }, { a: "" }, false],
    ["a wrapped value is the value", { "/a": "x" }, { a: [["x"]] }, true],
    ["an index", { "/a/1": "x" }, { a: ["y", "x"] }, true],
    ["an inherited field is absent", { "/constructor/name": "*" }, {}, false],
    ["a field with a slash", { "/a~1b/~0": "x" }, { "a/b": { "~": "x" } }, true],
    ["every field of an object", { "/a/*": "x" }, { a: { b: "x", c: "x" } }, true],
    ["an empty list is present", { "/a": { present: false } }, { a: [] }, false],
    ["an object is no text", { "/a": "*" }, { a: {} }, false],
  ])("%s", async (_, condition, args, holds) => {
    expect((await decideOn(condition, args, "allow")).effect === "allow").toBe(holds);
    expect((await decideOn(condition, args, "deny")).effect === "deny").toBe(holds);
  });

  it("with several values, rules allow if all match and deny if one does", async () => {
    const mixed = { a: ["x", "y"] };
    expect((await decideOn({ "/a": "x" }, mixed, "allow")).effect).toBe("deny");
    expect((await decideOn({ "/a": "x" }, mixed, "deny")).effect).toBe("deny");
    expect((await decideOn({ "/a": "x" }, mixed, "approve")).effect).toBe("approve");
    expect((await decideOn({ "/a": { glob: "x", match: "some" } }, mixed, "allow")).effect).toBe("allow");
  });

  it("with too many or too deep values, rules do not allow, and deny", async () => {
    for (const a of [deep(100_000), Array.from({ length: 20_000 }, () => "/home/a")]) {
      expect((await decideOn({ "/a": "/home/*" }, { a }, "allow")).effect).toBe("deny");
      expect((await decideOn({ "/a": "/etc/*" }, { a }, "deny")).effect).toBe("deny");
    }
  });

  it("says when a decision depends on arguments", async () => {
    const policy = await readPolicy({
      default: "allow",
      rules: [
        { effect: "deny", tool: "write", args: { "/a": "x" } },
        { effect: "deny", tool: "remove" },
      ],
    });
    const decide = (tool: string) => policy.decide({ method: "tools/call", server: "s", tool });
    expect(decide("write")).toEqual({ effect: "allow", readsArguments: true });
    expect(decide("remove")).toMatchObject({ effect: "deny", rule: 2 });
    expect(decide("remove")).not.toHaveProperty("readsArguments");
    expect(decide("other")).toBe(decide("another"));
  });
});

describe("prompts and resources", () => {
  it("are decided by their own fields, and by rules for whole servers", async () => {
    const policy = await readPolicy({
      default: "deny",
      rules: [
        { effect: "deny", prompt: "secret_*" },
        { effect: "allow", resource: "file:///public/*" },
        { effect: "allow", server: "docs" },
        { effect: "allow", tool: "*" },
      ],
    });
    const decide = (method: string, named: object) =>
      policy.decide({ method, server: "notes", ...named }) as PolicyDecision;
    expect(decide("prompts/get", { prompt: "secret_plan", server: "docs" }).effect).toBe("deny");
    expect(decide("prompts/get", { prompt: "plan", server: "docs" }).effect).toBe("allow");
    expect(decide("prompts/get", { prompt: "plan" }).effect).toBe("deny");
    expect(decide("resources/read", { uri: "file:///public/a" }).effect).toBe("allow");
    expect(decide("resources/read", { uri: "file:///private/a" }).effect).toBe("deny");
  });
});
