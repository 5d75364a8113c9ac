/** Where a server request comes from. */

/** Where a request comes from, and until when its response is needed. */
export interface RequestOrigin {
  /** Name of the server, as configured. Show it to the user who decides. */
  readonly server: string;
  /**
   * The tool (its name on that server) whose call led to the request. Always known for servers that speak 2026-07-28. Earlier
   * revisions do not transmit it, so it is set only while a single tool call is in flight on the connection.
   */
  readonly tool?: string | undefined;
  /** The user that the connection belongs to; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** Aborts when the response is no longer needed: close the dialog. */
  readonly signal: AbortSignal;
}
