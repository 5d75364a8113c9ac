/** Lets the console watch the programs that run on a port, those of the host included. */
import type { CodeOutcome } from "./code-mode.js";
import type { PausedProgram, ProgramReport } from "./run-program.js";

/** Receives what happens to one program. Its functions must not throw. */
export interface ProgramWatcher {
  /** A call was made or has ended, or there is a new line. */
  changed(report: ProgramReport): void;
  ended(outcome: CodeOutcome | PausedProgram): void;
  /** The program was cancelled. */
  failed(error: unknown): void;
}

export interface StartedProgram {
  readonly source: string;
  /** `context` of `execute()`. */
  readonly context: unknown;
}

type OnStart = (program: StartedProgram) => ProgramWatcher;

// A registered symbol, because CommonJS bundles contain several copies of this module.
const KEY = Symbol.for("toolport.programs");
type Watched = { readonly [KEY]?: Set<OnStart> };

/** Calls `onStart` with every program that a code mode runs on this port. Returns a function that stops it. */
export function watchPrograms(toolport: object, onStart: OnStart): () => void {
  if ((toolport as Watched)[KEY] === undefined) Object.defineProperty(toolport, KEY, { value: new Set() });
  const all = (toolport as Watched)[KEY]!;
  all.add(onStart);
  return () => void all.delete(onStart);
}

/** Undefined if no one watches. */
export function announceProgram(toolport: object, program: StartedProgram): ProgramWatcher | undefined {
  const all = (toolport as Watched)[KEY];
  if (all === undefined || all.size === 0) return undefined;
  const watchers = [...all].map((onStart) => onStart(program));
  const each = (tell: (watcher: ProgramWatcher) => void) => {
    for (const watcher of watchers) tell(watcher);
  };
  return {
    changed: (report) => each((watcher) => watcher.changed(report)),
    ended: (outcome) => each((watcher) => watcher.ended(outcome)),
    failed: (error) => each((watcher) => watcher.failed(error)),
  };
}
