/** The option `servers` as a policy, so that it holds for tools, prompts, resources and subscriptions alike. */
import { ALLOW, decideEach, type Policy, type PolicyDecision, type PolicyRequest } from "./policy.js";

const DENY: PolicyDecision = { effect: "deny", reason: "this server is not offered to you" };

/** @param isServed whether a user may use a server */
export function createServerPolicy(
  isServed: (principal: string | undefined, server: string) => boolean,
): Policy {
  // Tools of the gateway itself belong to no server.
  const decide = ({ principal, server }: PolicyRequest): PolicyDecision =>
    server === "" || isServed(principal, server) ? ALLOW : DENY;
  return {
    decide,
    decideAll: (requests) => decideEach(decide, requests),
    onChange: () => () => {},
    close() {},
  };
}
