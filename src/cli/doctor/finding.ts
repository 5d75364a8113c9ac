/** The result of one check. */

export type FindingStatus = "ok" | "warn" | "fail" | "skip";

export interface Finding {
  /** Name of the check: `node`, `config`, `command` … */
  readonly check: string;
  readonly server?: string | undefined;
  readonly status: FindingStatus;
  readonly message: string;
  /** How to fix it: a command or a sentence. */
  readonly next?: string | undefined;
  /** Exit code for a failure. @default 1 */
  readonly exitCode?: number | undefined;
}
