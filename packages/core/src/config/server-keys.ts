/** The keys of records of one user and one server in a store. */

import { userPrefix } from "@toolport/stores";
import { configIdentity, type ServerConfig } from "./server-config.js";

/**
 * The identity of a server: the name of its entry and its address or command. Two names for one address are two
 * servers, and so are two addresses under one name. Usable as a key of a store and in a log.
 *
 * @example
 * ```ts
 * serverIdentity(config); // "mail/http:https://example.com/mcp"
 * ```
 */
export const serverIdentity = (config: ServerConfig): string =>
  `${encodeURIComponent(config.name)}/${configIdentity(config)}`;

/** The key of a record of one user and one server. */
export const serverKey = (kind: string, principal: string | undefined, config: ServerConfig): string =>
  `${userPrefix(kind, principal)}${serverIdentity(config)}`;
