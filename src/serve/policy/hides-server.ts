/** What a policy decides about as a whole: whether it hides a server from a user, and whether it reads the URIs of resources. */
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

/** Whether decisions may differ with the URI of a resource. Rules without `resource` do not read it. */
export const readsUris = (option: PolicyOption): boolean =>
  ([option].flat() as readonly unknown[]).some((part) => {
    const document = isRules(part) ? part.source?.().document : undefined;
    return document === undefined || document.rules.some(({ resource }) => resource !== undefined);
  });

const isRules = (part: unknown): part is Policy =>
  typeof part === "object" && part !== null && "onChange" in part;
