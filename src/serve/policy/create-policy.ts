/** One policy made of rules and outside engines: the strictest answer counts. */
import { ConfigError } from "../../errors/toolport-error.js";
import type { Logger } from "../../telemetry/logger.js";
import { ALLOW, type Policy, type PolicyDecision, type PolicyRequest, stricter } from "./policy.js";
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
  const parts = (Array.isArray(option) ? (option as readonly PolicyPart[]) : [option as PolicyPart]).map(
    (part): Policy => {
      if (typeof part === "function") return enginePolicy({ decide: part }, onWarning);
      if (typeof (part as Partial<PolicyEngine> | null)?.decide !== "function") throw notReady();
      return isPolicy(part) ? part : enginePolicy(part, onWarning);
    },
  );
  const [only] = parts;
  return parts.length === 1 ? only! : joinPolicies(parts);
}

const notReady = (): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what: "The policy is neither a function nor an object with the function `decide`",
    next: "Pass `await readPolicy(rules)` or `await watchPolicy(file)`",
  });

const isPolicy = (part: Policy | PolicyEngine): part is Policy => "onChange" in part;

function joinPolicies(parts: readonly Policy[]): Policy {
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

/** Asks the parts from `index` on, without a promise as long as they answer at once. */
function decideFrom(
  parts: readonly Policy[],
  request: PolicyRequest,
  index = 0,
  sofar?: PolicyDecision,
): PolicyDecision | Promise<PolicyDecision> {
  let strictest = sofar;
  for (let at = index; at < parts.length && strictest?.effect !== "deny"; at++) {
    const decision = parts[at]!.decide(request);
    const before = strictest;
    if (decision instanceof Promise)
      return decision.then((late) => decideFrom(parts, request, at + 1, stricter(before, late)));
    strictest = stricter(before, decision);
  }
  return strictest ?? ALLOW;
}

/** Each part sees only what the parts before it did not deny. */
function decideListFrom(
  parts: readonly Policy[],
  requests: readonly PolicyRequest[],
): readonly PolicyDecision[] | Promise<readonly PolicyDecision[]> {
  const [first, ...others] = parts;
  if (first === undefined) return requests.map(() => ALLOW);
  const goOn = (decisions: readonly PolicyDecision[]) => {
    const open = requests.filter((_, index) => decisions[index]!.effect !== "deny");
    if (others.length === 0 || open.length === 0) return decisions;
    const merge = (later: readonly PolicyDecision[]): PolicyDecision[] => {
      let next = 0;
      return decisions.map((decision) =>
        decision.effect === "deny" ? decision : stricter(decision, later[next++]!),
      );
    };
    const later = decideListFrom(others, open);
    return later instanceof Promise ? later.then(merge) : merge(later);
  };
  const decisions = first.decideAll(requests);
  return decisions instanceof Promise ? decisions.then(goOn) : goOn(decisions);
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
  const given = (Array.isArray(option) ? option : [option]) as readonly unknown[];
  const rules = given.filter(isRules);
  return (asked) =>
    rules.some((policy) => {
      const decision = policy.decide({ ...asked, method: WHOLE_SERVER });
      return !(decision instanceof Promise) && decision.effect === "deny";
    });
}

/** Whether decisions may differ with the URI of a resource. Rules without `resource` do not read it. */
export const readsUris = (option: PolicyOption): boolean =>
  ([option].flat() as readonly unknown[]).some((part) => {
    const document = isRules(part) ? part.source?.().document : undefined;
    return document === undefined || document.rules.some(({ resource }) => resource !== undefined);
  });

const isRules = (part: unknown): part is Policy =>
  typeof part === "object" && part !== null && "onChange" in part;
