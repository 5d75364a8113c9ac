/** Gives a gateway access to the ports behind the public methods. Not part of the public API. */

import { ConfigError } from "../errors/toolport-error.js";
import type { Emitter } from "../util/callbacks.js";
import type { ToolportEvents } from "./events.js";
import { createLeanParts, type LeanParts } from "./lean/lean-parts.js";
import type { Port } from "./port.js";
import { ACCESS_KEY } from "./toolport-access.js";

/** The ports of one `createToolport`, for a gateway. */
export interface GatewayAccess {
  readonly plain: Port;
  /** The lean port of a user; created on first use. Undefined: the plain port. */
  portOf(principal: string | undefined): Port;
  /** Closes the port of a user and forgets it. */
  release(principal: string): Promise<void>;
  /** Closes connections of users that have been idle for this long. Also done from time to time. @default 60000 */
  rest(idleMs?: number): void;
  /** Number of users who have a port now. */
  readonly users: number;
  readonly on: Emitter<ToolportEvents>["on"];
}

/** Throws for an object that `createToolport` did not return. */
export function gatewayAccess(toolport: object): GatewayAccess {
  const open = (toolport as Partial<Record<typeof ACCESS_KEY, Access>> | null | undefined)?.[ACCESS_KEY];
  if (open !== undefined) return open(createLeanParts);
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "A gateway needs the object that createToolport() returned",
    next: "Pass that object itself, not one from as(user)",
  });
}

type Access = (createLean: () => LeanParts) => GatewayAccess;
