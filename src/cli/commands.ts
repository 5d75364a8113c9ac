/** All commands: the help, the completion and the program itself read this table. */
import type { CommandSpec } from "./command.js";
import { LOOK_COMMANDS } from "./table/look-commands.js";
import { MANAGEMENT_COMMANDS } from "./table/management-commands.js";
import { PROGRAM_COMMANDS } from "./table/program-commands.js";
import { SERVER_COMMANDS } from "./table/server-commands.js";
import { UPKEEP_COMMANDS } from "./table/upkeep-commands.js";
import { USE_COMMANDS } from "./table/use-commands.js";

export const COMMANDS: readonly CommandSpec[] = [
  ...SERVER_COMMANDS,
  ...MANAGEMENT_COMMANDS,
  ...USE_COMMANDS,
  ...LOOK_COMMANDS,
  ...PROGRAM_COMMANDS,
  ...UPKEEP_COMMANDS,
];
