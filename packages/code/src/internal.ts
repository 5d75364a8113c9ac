/** What other packages of this repository need of `code`, and programs do not. */
export { loadExecutor } from "./create-code-mode.js";
export { EXECUTE_NAME, SEARCH_NAME } from "./model-tools.js";
export { type ProgramNews, type ProgramReport, type StartedProgram, watchPrograms } from "./run-program.js";
export { ProgramRecords, toSuspendedProgram } from "./suspend/suspended-programs.js";
