/** Who asks when a server asks the client for something. */

/** Where a request comes from, and how long its answer is wanted. */
export interface RequestOrigin {
  /** Name of the server, as configured. Show it to whoever decides. */
  readonly server: string;
  /**
   * Name, on that server, of the tool whose call led to the request. Certain in the modern era; before it the wire does
   * not say, so it is there only while a single tool call is under way on the connection.
   */
  readonly tool?: string | undefined;
  /** Whose connection it is; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** Aborted when nobody waits for the answer any more: take the dialog away. */
  readonly signal: AbortSignal;
}
