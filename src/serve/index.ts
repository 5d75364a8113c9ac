/** `toolport/serve`: many MCP servers as one, for every MCP client. */

export type { AuditEvent } from "./audit/audit-event.js";
export type { GatewayAuth, VerifiedUser } from "./auth/auth-options.js";
export { createGateway, type Gateway } from "./gateway.js";
export type { GatewayOptions } from "./gateway-options.js";
export type { PolicyOption } from "./policy/create-policy.js";
export type { Policy, PolicyDecision, PolicyRequest } from "./policy/policy.js";
export type { PolicyDocument, PolicyRule } from "./policy/policy-document.js";
export type { PolicyAnswer, PolicyContext, PolicyEngine, PolicyHook } from "./policy/policy-engine.js";
export { type ReadPolicyOptions, readPolicy } from "./policy/read-policy.js";
export { type WatchedPolicy, type WatchPolicyOptions, watchPolicy } from "./policy/watch-policy.js";
