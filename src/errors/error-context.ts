/** What is known about a failure besides the error itself. */
export interface ErrorContext {
  /** Name of the server, as configured. */
  server?: string | undefined;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** What was going on: `connect`, `list`, `call`, … While connecting, nothing of a call can have been sent. */
  phase?: string | undefined;
}
