/** Whether a policy hides a whole server from a user. */
import type { PolicyOption } from "./create-policy.js";
import type { Policy, PolicyRequest } from "./policy.js";

/** The method of a request about a whole server. It names no tool, prompt or resource. */
export const WHOLE_SERVER = "server/discover";

/** A server, and the user who asks for it. */
type AskedServer = Pick<PolicyRequest, "principal" | "scopes" | "server">;

/**
 * Asks rules only, which answer at once and can tell whether some part of the server could be allowed. An outside engine decides
 * about one tool, prompt or resource at a time, so it hides no server.
 */
export function createServerRule(option: PolicyOption | undefined): (asked: AskedServer) => boolean {
  const given = (Array.isArray(option) ? option : [option]) as readonly unknown[];
  const rules = given.filter(isRules);
  return (asked) =>
    rules.some((policy) => {
      const decision = policy.decide({ ...asked, method: WHOLE_SERVER });
      return !(decision instanceof Promise) && decision.effect === "deny";
    });
}

const isRules = (part: unknown): part is Policy =>
  typeof part === "object" && part !== null && "onChange" in part;
