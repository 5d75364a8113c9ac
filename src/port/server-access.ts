/** Access to the prompts and resources of a server: the options of one access, and the part of a port it needs. */
import type { Catalog } from "../catalog/catalog.js";
import type { CacheOption } from "../config/server-entry.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { ObserveCall } from "../execution/listeners.js";
import type { RequestFacts } from "../telemetry/open-telemetry-attributes.js";

/** Options for reading a resource, getting a prompt and completing an argument. */
export interface AccessOptions extends WaitOptions {
  /** Any value of yours. Listeners receive it. */
  context?: unknown;
}

/** A request that may run twice. */
export interface ServerRead extends Pick<RequestFacts, "method" | "prompt" | "uri"> {
  readonly params: Record<string, unknown>;
}

/** The part of a port that prompts, resources and completions need. */
export interface ServerAccess {
  readonly principal: { readonly name: string } | undefined;
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly parts: {
    readonly settings: { readonly timeoutMs: number; readonly cache: CacheOption };
    readonly observe: ObserveCall;
  };
  /** Sends one request in a span of its own. */
  ask(connection: ServerConnection, request: ServerRead, wait: WaitOptions): Promise<Record<string, unknown>>;
}
