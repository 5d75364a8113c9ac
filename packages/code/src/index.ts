/** `toolport/code`: the model writes a program, and the program calls the tools. */

export type { CodeExecutor, CodeProgram, ProgramEnd, ProgramHost, ProgramRun } from "./code-executor.js";
export type {
  CodeFailure,
  CodeLimits,
  CodeMode,
  CodeModeOptions,
  CodeOutcome,
  CodeSuspended,
  CodeValue,
  ExecuteOptions,
} from "./code-mode.js";
export { createCodeMode } from "./create-code-mode.js";
