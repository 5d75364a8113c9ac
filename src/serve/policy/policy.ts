/** What a gateway asks its policy, and what a policy answers. */

import type { PolicyDocument, PolicyEffect } from "./policy-document.js";

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
