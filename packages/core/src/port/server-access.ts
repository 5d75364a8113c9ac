/** Access to the prompts and resources of a server. */

import type { RequestFacts } from "@toolport/base";
import type { WaitOptions } from "../connection/server-connection.js";

/** Options for reading a resource, getting a prompt and completing an argument. */
export interface AccessOptions extends WaitOptions {
  /** Any value of yours. Listeners receive it. */
  context?: unknown;
}

/** Options of `readResource()`. */
export interface ReadResourceOptions extends AccessOptions {
  /** Use cached contents while the server's time to live lasts. @default `cache` of the server, or of the port */
  cache?: boolean;
}

/** A request that may run twice. */
export interface ServerRead extends Pick<RequestFacts, "method" | "prompt" | "uri"> {
  readonly params: Record<string, unknown>;
}
