/** What `createToolport` takes. */
import type { ServerEntry } from "./config/server-entry.js";
import type { ToolportError } from "./errors/toolport-error.js";
import type { Store } from "./state/store.js";
import type { Logger } from "./telemetry/logger.js";

/** What happens when a server cannot be connected. */
export type ServerErrorPolicy =
  | "report"
  | "throw"
  | ((server: { readonly name: string }, error: ToolportError) => void);

/** Options of {@link createToolport}. */
export interface ToolportOptions {
  /**
   * The servers, by name.
   * @default {}
   * @example
   * ```ts
   * { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } }
   * ```
   */
  mcpServers?: Readonly<Record<string, ServerEntry>>;
  /** Where state is kept. @default memory */
  store?: Store;
  /** How this program introduces itself to servers. @default { name: "toolport", version } */
  clientInfo?: { name: string; version: string };
  /** Put the server's name before every tool's name: `server__tool`. @default true */
  prefix?: boolean;
  /** Longest silence of a server during one request. @default 60000 */
  timeoutMs?: number;
  /** Longest time of one request, progress or not. @default 300000 */
  maxTimeoutMs?: number;
  /** Longest time one attempt to connect may take. @default 60000 */
  connectTimeoutMs?: number;
  /** Largest message accepted from a server. @default 10485760 */
  maxMessageBytes?: number;
  /**
   * A server that cannot be connected is reported (`connect()` tells), thrown (one error that names all), or handed to
   * a function.
   * @default "report"
   */
  onServerError?: ServerErrorPolicy;
  /** The `fetch` to use instead of the pooled one. @default a guarded pool on Node, the global `fetch` elsewhere */
  fetch?: typeof globalThis.fetch;
  /** Close a connection that was not used for this long; it reopens by itself. @default off */
  idleTimeoutMs?: number;
  /** Ask every server for a sign of life now and then, and bring back those that give none. @default off */
  healthCheck?: { intervalMs: number };
  /** Gets warnings, and what `logEvents`, `logRequests` and `logResponses` ask for. @default silent */
  logger?: Logger;
}
