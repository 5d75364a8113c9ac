/** One policy made of rules and outside engines: the strictest answer counts. */
import { ConfigError } from "../../errors/toolport-error.js";
import type { Logger } from "../../telemetry/logger.js";
import { ALLOW, andThen, type Policy, type PolicyDecision, type PolicyRequest, stricter } from "./policy.js";
import { enginePolicy, type PolicyEngine, type PolicyHook } from "./policy-engine.js";

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
