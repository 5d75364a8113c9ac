/** Programs of code mode, as the page shows them. */

/** A program that ran in code mode. */
export interface ProgramSummary {
  readonly id: number;
  readonly startedAt: number;
  /** `waiting`: for a person. */
  readonly state: "running" | "ok" | "error" | "waiting" | "cancelled";
  /** The page's own id of the run. Null for programs of the host. */
  readonly run: string | null;
  /** The first line. */
  readonly title: string;
  readonly callCount: number;
  readonly durationMs: number | null;
}

/** A program with everything that is known about it, redacted and limited in size. */
export interface ProgramView extends ProgramSummary {
  readonly source: string;
  /** JSON. */
  readonly value: string | null;
  readonly error: string | null;
  /** Where the error is, from 1. */
  readonly line: number | null;
  readonly logs: readonly string[];
  readonly calls: readonly {
    readonly tool: string;
    readonly state: "running" | "ok" | "error";
    readonly code: string | null;
    readonly outcome: "unsent" | "unknown" | null;
    readonly durationMs: number;
  }[];
}
