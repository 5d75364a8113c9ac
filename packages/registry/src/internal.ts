/** What other packages of this repository need of `registry`, and programs do not. */
export type { InputValue } from "./input-resolver.js";
export { OFFICIAL_REGISTRY } from "./registry-options.js";
export { type SourcePreference, suggestServerName } from "./to-server-config.js";
