/** What a gateway asks its policy and what a policy answers, and the policy file: rules, each with an effect and patterns. */

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

/** One request of a client, or one entry of a list that the client asked for. */
export interface PolicyRequest {
  /** The user. Undefined without users: standard input, a local token. */
  readonly principal?: string | undefined;
  /** Scopes of the user's token. */
  readonly scopes?: readonly string[] | undefined;
  /** The method of the client's request: `tools/call`, `tools/list`, `prompts/get`, `resources/read`, … */
  readonly method: string;
  /** The server that owns the tool, the prompt or the resource. */
  readonly server: string;
  /** The name of the tool at its server, whatever name the client used for it. */
  readonly tool?: string | undefined;
  /** The name of the prompt at its server. */
  readonly prompt?: string | undefined;
  /** The URI of the resource, or the template, at its server. */
  readonly uri?: string | undefined;
  /** The name that the client knows. For engines and messages; rules do not read it. */
  readonly publicName?: string | undefined;
  /** Arguments of a tool or a prompt. Methods that end in `/list` have none. */
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}

/** The answer of a policy. */
export interface PolicyDecision {
  readonly effect: PolicyEffect;
  /** Why a request is denied, or has to be approved. The client sees it. */
  readonly reason?: string | undefined;
  /** The rule that decided, counted from 1. Undefined: the default of the policy, or an outside engine. */
  readonly rule?: number | undefined;
  /** The arguments were read for this decision, so exactly these arguments may be sent. @default false */
  readonly readsArguments?: boolean | undefined;
}

/**
 * A compiled policy. `decide` returns a promise only if an outside engine is asked; it never throws and never rejects.
 *
 * @example
 * ```ts
 * const policy = await readPolicy({ default: "allow", rules: [{ effect: "deny", tool: "delete_*" }] });
 * policy.decide({ method: "tools/call", server: "files", tool: "delete_file" }); // { effect: "deny", … }
 * ```
 */
export interface Policy {
  /**
   * Decides about one request. For a method that ends in `/list`: whether some arguments could be allowed. For `server/discover`:
   * whether something of the server could be allowed.
   */
  decide(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
  /** Decides about the entries of a list, in their order. */
  decideAll(
    requests: readonly PolicyRequest[],
  ): readonly PolicyDecision[] | Promise<readonly PolicyDecision[]>;
  /** Calls `listener` after the rules changed: lists may differ now. Returns a function that ends it. */
  onChange(listener: () => void): () => void;
  /** Stops watching. Decisions go on with the last rules. */
  close(): void;
  /** The rules that decide now, if the policy is made of rules. A gateway checks whether they can apply to its servers. */
  source?(): ReadRules;
}

/** The rules of a policy, and where they come from. */
export interface ReadRules {
  readonly document: PolicyDocument;
  /** Names of servers that rules may name, whether the gateway has them or not. */
  readonly knownServers: readonly string[];
  /** The file and line of a part of the document. Undefined: it comes from no file. */
  locate(path: readonly (string | number)[]): { readonly file: string; readonly line: number } | undefined;
}

export const ALLOW: PolicyDecision = Object.freeze({ effect: "allow" });

/** How strict an effect is. */
const RANK: Readonly<Record<PolicyEffect, number>> = { allow: 0, approve: 1, deny: 2 };

/** Of two decisions about the same request, the stricter one. */
export function stricter(before: PolicyDecision | undefined, decision: PolicyDecision): PolicyDecision {
  if (before === undefined) return decision;
  const chosen = RANK[decision.effect] > RANK[before.effect] ? decision : before;
  const readsArguments = before.readsArguments === true || decision.readsArguments === true;
  return readsArguments && chosen.readsArguments !== true ? { ...chosen, readsArguments } : chosen;
}

/** Goes on without a promise if there is none to wait for. */
export const andThen = <Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> => (value instanceof Promise ? value.then(next) : next(value));

/** A policy whose rules do not change. */
export const fixedPolicy = (decide: (request: PolicyRequest) => PolicyDecision): Policy => ({
  decide,
  decideAll: (requests) => requests.map((request) => decide(request)),
  onChange: () => () => {},
  close() {},
});
