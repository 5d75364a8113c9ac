/** What may be said about one access to a server's resources or prompts. */
import type { WaitOptions } from "../connection/server-connection.js";

/** What may be said about reading a resource or getting a prompt. */
export interface AccessOptions extends WaitOptions {
  /** Anything of the caller's; reaches listeners. */
  context?: unknown;
}
