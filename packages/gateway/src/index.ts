/** `toolport/serve`: many MCP servers as one, for every MCP client. */

export type { AuditEvent } from "./audit/open-audit.js";
export type { GatewayAuth, VerifiedUser } from "./auth/auth-options.js";
export { createGateway, type Gateway } from "./gateway.js";
export type { GatewayOptions } from "./gateway-options.js";
export type {
  PolicyAnswer,
  PolicyContext,
  PolicyEngine,
  PolicyHook,
  PolicyOption,
} from "./policy/create-policy.js";
export type { Policy, PolicyDecision, PolicyDocument, PolicyRequest, PolicyRule } from "./policy/policy.js";
export { type ReadPolicyOptions, readPolicy } from "./policy/read-policy.js";
export { type WatchedPolicy, type WatchPolicyOptions, watchPolicy } from "./policy/watch-policy.js";
