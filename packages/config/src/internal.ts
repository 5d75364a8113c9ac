/** What other packages of this repository need of `config`, and programs do not. */
export {
  type CallbackListener,
  type CallbackVisit,
  openCallbackListener,
  openInBrowser,
} from "./authorize-in-browser.js";
export type { ConfigSource } from "./config-locations.js";
export { describeWritten } from "./describe-command.js";
export { textsIn } from "./expand-entry.js";
export { type CheckedServer, checkWritten, filesOf, writtenForm } from "./expand-server.js";
export { hasVariables } from "./expand-variables.js";
export type { ExportDialect } from "./export-config.js";
export { effectiveServers, expandConfig, type ReadConfig, readConfig } from "./load-config.js";
export { isServerEntry, readDocument } from "./read-document.js";
export { readGiven, type WrittenServer } from "./read-servers.js";
