/** The modules of the core: a client of MCP servers, which does not know who serves its tools to others. */

/** Folders and files of `src/`. */
const CORE = [
  "util",
  "errors",
  "telemetry",
  "model",
  "config",
  "schema",
  "content",
  "transports",
  "state",
  "protocol",
  "auth",
  "connection",
  "catalog",
  "execution",
  "port",
  "toolport.ts",
  "create-toolport.ts",
] as const;

/** @param file path from the root of the repository */
export const isCore = (file: string): boolean =>
  CORE.some((name) => file === `src/${name}` || file.startsWith(`src/${name}/`));
