/** Something wrong with the command line itself: it says what, and which command to try next. */

export interface CliErrorInit {
  readonly code?: string;
  readonly message: string;
  /** A whole command line. */
  readonly next?: string | undefined;
  readonly exitCode?: number;
  /** Who it is about. */
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly next: string | undefined;
  readonly exitCode: number;
  readonly server: string | undefined;
  readonly tool: string | undefined;

  constructor({ code = "USAGE", message, next, exitCode = 1, server, tool }: CliErrorInit) {
    super(message);
    this.code = code;
    this.next = next;
    this.exitCode = exitCode;
    this.server = server;
    this.tool = tool;
  }
}
