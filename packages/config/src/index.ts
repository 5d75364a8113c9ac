/** Entry point `toolport/node`: everything that needs a file system. */

export { type AuthorizeInBrowserOptions, authorizeInBrowser } from "./authorize-in-browser.js";
export type { ConfigLocation, FindConfigsOptions } from "./config-locations.js";
export { findConfigs, ownConfigFile } from "./config-locations.js";
export type { CommandDescription } from "./describe-command.js";
export { describeCommand } from "./describe-command.js";
export type { DialectKind } from "./dialects/dialect.js";
export { DIALECT_KINDS } from "./dialects/dialects.js";
export type { ConfigInput } from "./expand-variables.js";
export type { ExportConfigOptions, ExportedConfig } from "./export-config.js";
export { exportConfig } from "./export-config.js";
export type { LoadConfigOptions, LoadedConfig } from "./load-config.js";
export { loadConfig } from "./load-config.js";
export type { ConfigChanges } from "./save-own-config.js";
export { saveOwnConfig } from "./save-own-config.js";
export type { ConfiguredServer, Trust } from "./trust-records.js";
export { configFingerprint, TrustRecords } from "./trust-records.js";
