/**
 * All commands, in the order of the help. The program, its help and its completion read this table. The bundle of the program
 * contains only their rows; the rest of a command's file is loaded to run it.
 */
import type { CommandSpec } from "./command.js";
import { addCommand } from "./commands/add.js";
import { authCommand, logoutCommand } from "./commands/auth.js";
import { callCommand } from "./commands/call.js";
import { disableCommand, enableCommand, removeCommand } from "./commands/change-servers.js";
import { completeCommand, completionCommand } from "./commands/completion.js";
import { consoleCommand, demoCommand } from "./commands/console.js";
import { doctorCommand } from "./commands/doctor.js";
import { execCommand } from "./commands/exec.js";
import { exportCommand, importCommand } from "./commands/import.js";
import { inspectCommand } from "./commands/inspect.js";
import { listCommand } from "./commands/list.js";
import { auditCommand, policyCommand } from "./commands/policy.js";
import { promptCommand, promptsCommand, readCommand, resourcesCommand } from "./commands/resources.js";
import { discardCommand, resumeCommand, suspendedCommand } from "./commands/resume.js";
import { runCommand } from "./commands/run.js";
import { searchCommand } from "./commands/search.js";
import { serveCommand } from "./commands/serve.js";
import { shellCommand } from "./commands/shell.js";
import { stateCommand } from "./commands/state.js";
import { findCommand, toolsCommand } from "./commands/tools.js";
import { watchCommand } from "./commands/watch.js";
import { typesCommand } from "./commands/write-types.js";

export const COMMANDS: readonly CommandSpec[] = [
  listCommand,
  addCommand,
  removeCommand,
  enableCommand,
  disableCommand,
  importCommand,
  exportCommand,
  searchCommand,
  authCommand,
  logoutCommand,
  callCommand,
  shellCommand,
  execCommand,
  suspendedCommand,
  resumeCommand,
  discardCommand,
  readCommand,
  promptCommand,
  runCommand,
  toolsCommand,
  resourcesCommand,
  promptsCommand,
  findCommand,
  inspectCommand,
  watchCommand,
  doctorCommand,
  serveCommand,
  typesCommand,
  consoleCommand,
  demoCommand,
  stateCommand,
  auditCommand,
  policyCommand,
  completionCommand,
  completeCommand,
];
