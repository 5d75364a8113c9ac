/** What one check found. */

export type FindingStatus = "ok" | "warn" | "fail" | "skip";

export interface Finding {
  /** Which check it was: `node`, `config`, `command` … */
  readonly check: string;
  readonly server?: string | undefined;
  readonly status: FindingStatus;
  readonly message: string;
  /** What to do about it: a command, or a sentence. */
  readonly next?: string | undefined;
  /** What a failure means for the exit code. @default 1 */
  readonly exitCode?: number | undefined;
}
