/** The policy file: rules, each with an effect and patterns. */

/** What happens to a request. `approve`: a person has to agree first. */
export type PolicyEffect = "allow" | "deny" | "approve";

/** Text with `*` (any characters, also none) and `?` (one character). A list matches if one of its patterns does. */
export type TextPattern = string | readonly string[];

/** A user by the parts of a principal that the gateway made of a token: issuer and subject. */
export interface UserPattern {
  readonly issuer?: TextPattern;
  readonly subject?: TextPattern;
}

/** A condition on one argument. All fields that are given must hold. */
export interface ArgumentTest {
  /** The value as text matches this pattern. */
  readonly glob?: TextPattern;
  /** The value as text contains a match. RE2 syntax: no look-around and no back-references, so time is linear. */
  readonly regex?: string;
  /** The value is this text, number, boolean or null. */
  readonly equals?: string | number | boolean | null;
  /** Smallest number. A text that is a number counts as that number. */
  readonly min?: number;
  /** Largest number. */
  readonly max?: number;
  /** Upper and lower case are the same in the `glob` and the `regex` beside it. @default false */
  readonly ignoreCase?: boolean;
  /**
   * The value is the path of a file: `glob`, `regex`, `equals` and `not` see it with `/`, without `.`, `..` and `//`. A path that can
   * be read in more than one way matches no rule that allows, and every rule that denies or needs approval.
   * @default false
   */
  readonly path?: boolean;
  /** Whether the pointer finds a value. `false` matches arguments without it. */
  readonly present?: boolean;
  /** Holds for values for which this does not hold. It may not contain `present` and `match`. */
  readonly not?: ArgumentCondition;
  /**
   * If the pointer finds several values: how many must match.
   * @default "every" in rules that allow, "some" in rules that deny or need approval
   */
  readonly match?: "every" | "some";
}

/** A text is a glob; a number, boolean or null is compared. */
export type ArgumentCondition = string | number | boolean | null | ArgumentTest;

/** One rule. It applies if all patterns that are given match. */
export interface PolicyRule {
  readonly effect: PolicyEffect;
  /** Names of servers, as they are configured. @default all servers */
  readonly server?: TextPattern;
  /** Names of tools, as their server calls them. The rule then applies to tools only. */
  readonly tool?: TextPattern;
  /** Names of prompts, as their server calls them. The rule then applies to prompts only. */
  readonly prompt?: TextPattern;
  /** URIs of resources. The rule then applies to resources only. */
  readonly resource?: TextPattern;
  /** Principals, or parts of them. @default all users, and requests without a user */
  readonly user?: TextPattern | UserPattern;
  /** The token has one of these scopes. @default any token */
  readonly scope?: TextPattern;
  /**
   * Conditions on arguments, by JSON pointer (RFC 6901). The step `*` stands for every element of an array and every field of
   * an object. All conditions must hold.
   */
  readonly args?: Readonly<Record<string, ArgumentCondition>>;
  /** Shown to the client with a refusal or a request for approval. @default the number of the rule */
  readonly reason?: string;
}

/**
 * A policy. The first rule that applies decides.
 *
 * @example
 * ```json
 * { "default": "deny", "rules": [{ "effect": "allow", "server": "files", "tool": "read_*" }] }
 * ```
 */
export interface PolicyDocument {
  /** What happens to requests to which no rule applies. */
  readonly default: PolicyEffect;
  readonly rules: readonly PolicyRule[];
}
