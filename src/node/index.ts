/** The door `toolport/node`: what needs a file system. */
export type { ConfigSource, LoadConfigOptions, LoadedConfig } from "./load-config.js";
export { loadConfig } from "./load-config.js";
