/** What other packages of this repository need of `gateway`, and programs do not. */
export { type AuditReport, verifyAudit } from "./audit/verify-audit.js";
export { gatewayAddresses } from "./auth/auth-options.js";
export { loadLocalToken } from "./auth/local-token.js";
export { LOOPBACK_HOSTS } from "./http/http-request.js";
export { readUri } from "./policy/resource-uri.js";
export { findingText, reviewRules } from "./policy/review-rules.js";
export { GATEWAY_KEYS_RECORD, loadGatewayKeys } from "./replicas/gateway-key.js";
export { createSeal } from "./replicas/seal.js";
