/** How credentials get onto requests: the transport sends, somebody above it knows the credentials. */

/** Sends the request once with these header fields in addition to its own. */
export type SendWithFields = (fields: Readonly<Record<string, string>>) => Promise<Response>;

/**
 * Sends a request with the credentials of this moment and, where the server refuses them, again with better ones.
 *
 * @throws AuthError when somebody has to authorize first
 */
export type AuthorizedSend = (request: RequestToAuthorize, send: SendWithFields) => Promise<Response>;

/** The request that wants credentials. */
export interface RequestToAuthorize {
  readonly method: string;
  readonly url: URL;
  readonly signal?: AbortSignal | null | undefined;
  /** The `authorization` field that somebody else has put on it. */
  readonly authorization?: string | undefined;
}

/** The credentials of a server, if the port looks after them. Without: what the entry's `authProvider` has. */
export type AuthorizeRequests = (server: string) => AuthorizedSend | undefined;
