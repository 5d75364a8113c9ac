/** Entry point `toolport/node`: everything that needs a file system. */

export { type AuthorizeInBrowserOptions, authorizeInBrowser } from "./authorize-in-browser.js";
export {
  type ConfigLocation,
  type ConfigScope,
  type ConfigSource,
  type ConfigSurroundings,
  type FindConfigsOptions,
  findConfigs,
  ownConfigFile,
} from "./config-locations.js";
export { type CommandDescription, describeCommand } from "./describe-command.js";
export type { DialectKind } from "./dialects/dialect.js";
export { DIALECT_KINDS } from "./dialects/dialects.js";
export type { CommandRisk } from "./entry-risks.js";
export type { ConfigInput, InputAnswers } from "./expand-variables.js";
export * from "./export-config.js";
export { type LoadConfigOptions, type LoadedConfig, loadConfig } from "./load-config.js";
export { type ConfigChanges, saveOwnConfig } from "./save-own-config.js";
export * from "./trust-records.js";
