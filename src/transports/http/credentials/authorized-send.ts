/** How a transport sends requests with credentials, without knowing where they come from. */

import type { AbortSource } from "../../../util/shared-abort.js";

/** Sends the request once, with these headers in addition to its own. */
export type SendWithFields = (fields: Readonly<Record<string, string>>) => Promise<Response>;

/**
 * Sends a request with the current credentials and, if the server rejects them, again with renewed ones.
 *
 * @throws AuthError if a user has to authorize first
 */
export type AuthorizedSend = (request: RequestToAuthorize, send: SendWithFields) => Promise<Response>;

/** The request to send. */
export interface RequestToAuthorize {
  readonly method: string;
  readonly url: URL;
  readonly signal?: AbortSource | null | undefined;
  /** The `authorization` header that the request already has. */
  readonly authorization?: string | undefined;
}

/** The credentials of a server, if the port manages them. Undefined: use the entry's `authProvider`. */
export type AuthorizeRequests = (server: string) => AuthorizedSend | undefined;
