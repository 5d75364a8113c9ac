/** An error of the command line itself, with the command to try next. */

export interface CliErrorInit {
  readonly code?: string;
  readonly message: string;
  /** A complete command line. */
  readonly next?: string | undefined;
  readonly exitCode?: number;
  /** The server and tool that the error concerns. */
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  /** Each problem found in what the user gave. */
  readonly issues?: readonly unknown[] | undefined;
}

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly next: string | undefined;
  readonly exitCode: number;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  readonly issues: readonly unknown[] | undefined;

  constructor({ code = "USAGE", message, next, exitCode = 1, server, tool, issues }: CliErrorInit) {
    super(message);
    this.code = code;
    this.next = next;
    this.exitCode = exitCode;
    this.server = server;
    this.tool = tool;
    this.issues = issues;
  }
}
