/** One policy made of rules and outside engines (OPA, Cedar, a function): the strictest answer counts, and an engine fails closed. */
import { ConfigError, type Logger, mapConcurrently, withDeadline } from "@toolport/base";
import {
  ALLOW,
  andThen,
  type Policy,
  type PolicyDecision,
  type PolicyEffect,
  type PolicyRequest,
  stricter,
} from "./policy.js";
import { readingsOf } from "./resource-uri.js";

/** What an engine may answer. `true` allows, `false` denies. */
export type PolicyAnswer = boolean | PolicyEffect | PolicyDecision;

/** What an engine gets besides the request. */
export interface PolicyContext {
  /** Aborted when the engine has used up its time. Pass it to `fetch`. */
  readonly signal: AbortSignal;
}

/**
 * Asks an outside engine about one request. An error, an unknown answer and no answer in time deny the request.
 *
 * @example
 * ```ts
 * const hook: PolicyHook = ({ principal, tool }) => tool !== "delete_file" || principal === "admin";
 * ```
 */
export type PolicyHook = (
  request: PolicyRequest,
  context: PolicyContext,
) => PolicyAnswer | Promise<PolicyAnswer>;

/** An outside engine with more than the one function. */
export interface PolicyEngine {
  /** Asks about one request. */
  readonly decide: PolicyHook;
  /**
   * Asks about all entries of a list at once, and answers in their order.
   * @default `decide` for each entry, 16 at a time
   */
  readonly decideAll?: (
    requests: readonly PolicyRequest[],
    context: PolicyContext,
  ) => readonly PolicyAnswer[] | Promise<readonly PolicyAnswer[]>;
  /** Time for one question. @default 2000 */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 2_000;
const LIST_CONCURRENCY = 16;

const DENIED: PolicyDecision = Object.freeze({ effect: "deny", reason: "The policy engine denies this" });
const APPROVE: PolicyDecision = Object.freeze({
  effect: "approve",
  reason: "The policy engine needs approval for this",
});
const FAILED: PolicyDecision = Object.freeze({
  effect: "deny",
  reason: "The policy engine did not decide. Try again later",
});

/** Calls the engine, and turns everything it does into a decision. */
function enginePolicy(
  { decide, decideAll, timeoutMs = DEFAULT_TIMEOUT_MS }: PolicyEngine,
  onWarning: (message: string, cause: unknown) => void,
): Policy {
  const failed = (cause: unknown): PolicyDecision => {
    onWarning("The policy engine failed; requests are denied until it answers", cause);
    return FAILED;
  };
  const read = (answer: unknown, request: PolicyRequest): PolicyDecision => {
    const decision = toDecision(answer);
    if (decision === undefined)
      return failed(new TypeError('Expected true, false, "allow", "deny", "approve" or { effect }'));
    return request.method.endsWith("/list") ? decision : { ...decision, readsArguments: true };
  };

  /** Asks with limited time. Stays synchronous if the engine does. */
  function ask<Result>(
    call: (context: PolicyContext) => unknown,
    onAnswer: (answer: unknown) => Result,
    onFailure: (cause: unknown) => Result,
  ): Result | Promise<Result> {
    // Created only for an engine that uses it.
    let controller: AbortController | undefined;
    const context = {
      get signal() {
        controller ??= new AbortController();
        return controller.signal;
      },
    };
    const onTimeout = () => {
      const error = new Error(`No answer in ${timeoutMs} ms`);
      controller?.abort(error);
      return error;
    };
    try {
      const answer = call(context);
      if (!isThenable(answer)) return onAnswer(answer);
      return withDeadline(Promise.resolve(answer), { timeoutMs, onTimeout }).then(onAnswer, onFailure);
    } catch (error) {
      return onFailure(error);
    }
  }

  const decideOne = (request: PolicyRequest) =>
    ask(
      (context) => decide(request, context),
      (answer) => read(answer, request),
      failed,
    );
  const decideList = (requests: readonly PolicyRequest[]): Decisions => {
    if (decideAll === undefined) return decideInTurn(decideOne, requests);
    const allFailed = (cause: unknown): readonly PolicyDecision[] => {
      const decision = failed(cause);
      return requests.map(() => decision);
    };
    return ask(
      (context) => decideAll(requests, context),
      (answers) =>
        Array.isArray(answers) && answers.length === requests.length
          ? requests.map((request, index) => read(answers[index], request))
          : allFailed(new TypeError(`Expected an array of ${requests.length} answers`)),
      allFailed,
    );
  };

  return {
    decide(request) {
      const readings = readingsOf(request);
      if (readings.length === 1) return decideOne(readings[0]!);
      return andThen(decideInTurn(decideOne, readings), (each) => each.reduce(stricter));
    },
    decideAll(requests) {
      const readings = requests.map(readingsOf);
      return andThen(decideList(readings.flat()), (each) => {
        let next = 0;
        return readings.map(({ length }) => {
          next += length;
          return each.slice(next - length, next).reduce(stricter);
        });
      });
    },
    onChange: () => () => {},
    close() {},
  };
}

type Decisions = readonly PolicyDecision[] | Promise<readonly PolicyDecision[]>;

/** Stays synchronous as long as the engine does. */
function decideInTurn(
  decide: (request: PolicyRequest) => PolicyDecision | Promise<PolicyDecision>,
  requests: readonly PolicyRequest[],
): Decisions {
  const decisions: PolicyDecision[] = [];
  for (const [index, request] of requests.entries()) {
    const decision = decide(request);
    if (decision instanceof Promise) {
      const others = requests.slice(index + 1);
      const waiting = mapConcurrently(others, LIST_CONCURRENCY, async (other) => decide(other));
      return Promise.all([decision, waiting]).then(([first, rest]) => [...decisions, first, ...rest]);
    }
    decisions.push(decision);
  }
  return decisions;
}

/** Undefined for anything that is no answer. */
function toDecision(answer: unknown): PolicyDecision | undefined {
  if (typeof answer === "object" && answer !== null) {
    const { effect, reason } = answer as PolicyDecision;
    const plain = typeof effect === "string" ? toDecision(effect) : undefined;
    return plain !== undefined && typeof reason === "string" && reason !== "" ? { effect, reason } : plain;
  }
  if (answer === true || answer === "allow") return ALLOW;
  if (answer === false || answer === "deny") return DENIED;
  return answer === "approve" ? APPROVE : undefined;
}

const isThenable = <Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

/** Rules that were read, an outside engine, or a function. Of several, the strictest answer counts. */
export type PolicyOption = PolicyPart | readonly PolicyPart[];

type PolicyPart = Policy | PolicyEngine | PolicyHook;

/**
 * Joins the parts of a policy. A denied request is not passed on to the parts after the one that denied it.
 *
 * @param logger gets a warning when an engine fails
 */
export function createPolicy(option: PolicyOption, logger: Pick<Logger, "warn">): Policy {
  const onWarning = (message: string, cause: unknown) => logger.warn(message, cause);
  const parts = partsOf(option).map((part): Policy => {
    if (typeof part === "function") return enginePolicy({ decide: part }, onWarning);
    if (typeof (part as Partial<PolicyEngine> | null)?.decide === "function")
      return isPolicy(part) ? part : enginePolicy(part, onWarning);
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The policy is neither a function nor an object with the function `decide`",
      next: "Pass `await readPolicy(rules)` or `await watchPolicy(file)`",
    });
  });
  if (parts.length === 1) return parts[0]!;
  return {
    decide: (request) => decideFrom(parts, request),
    decideAll: (requests) => decideListFrom(parts, requests),
    onChange(listener) {
      const ends = parts.map((part) => part.onChange(listener));
      return () => {
        for (const end of ends) end();
      };
    },
    close() {
      for (const part of parts) part.close();
    },
  };
}

/** Asks each part, without a promise as long as they answer at once, until one denies. */
function decideFrom(
  [first, ...others]: readonly Policy[],
  request: PolicyRequest,
  before?: PolicyDecision,
): PolicyDecision | Promise<PolicyDecision> {
  if (first === undefined || before?.effect === "deny") return before ?? ALLOW;
  return andThen(first.decide(request), (decision) =>
    decideFrom(others, request, stricter(before, decision)),
  );
}

/** Each part sees only what the parts before it did not deny. */
function decideListFrom(
  [first, ...others]: readonly Policy[],
  requests: readonly PolicyRequest[],
): readonly PolicyDecision[] | Promise<readonly PolicyDecision[]> {
  if (first === undefined) return requests.map(() => ALLOW);
  return andThen(first.decideAll(requests), (decisions) => {
    const open = requests.filter((_, index) => decisions[index]!.effect !== "deny");
    if (others.length === 0 || open.length === 0) return decisions;
    return andThen(decideListFrom(others, open), (later) => {
      let next = 0;
      return decisions.map((decision) =>
        decision.effect === "deny" ? decision : stricter(decision, later[next++]!),
      );
    });
  });
}

/** The method of a request about a whole server. It names no tool, prompt or resource. */
export const WHOLE_SERVER = "server/discover";

/**
 * Asks rules only, which answer at once and can tell whether some part of the server could be allowed. An outside engine decides
 * about one tool, prompt or resource at a time, so it hides no server.
 */
export function createServerRule(
  option: PolicyOption | undefined,
): (asked: Pick<PolicyRequest, "principal" | "scopes" | "server">) => boolean {
  const rules = rulesIn(option);
  return (asked) =>
    rules.some((policy) => {
      const decision = policy.decide({ ...asked, method: WHOLE_SERVER });
      return !(decision instanceof Promise) && decision.effect === "deny";
    });
}

/** Whether decisions may differ with the URI of a resource. Rules without `resource` do not read it. */
export const readsUris = (option: PolicyOption): boolean =>
  partsOf(option).some((part) => {
    const document = isPolicy(part) ? part.source?.().document : undefined;
    return document === undefined || document.rules.some(({ resource }) => resource !== undefined);
  });

/** The parts that are made of rules, or of other policies. */
export const rulesIn = (option: PolicyOption | undefined): readonly Policy[] =>
  partsOf(option).filter(isPolicy);

const partsOf = (option: PolicyOption | undefined): readonly PolicyPart[] =>
  option === undefined ? [] : ([option].flat() as readonly PolicyPart[]);

const isPolicy = (part: unknown): part is Policy =>
  typeof part === "object" && part !== null && "onChange" in part;
