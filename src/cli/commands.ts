/** All commands. The program, its help and its completion read this table. */
import type { CommandSpec } from "./command.js";
import { LOOK_COMMANDS } from "./commands/look-commands.js";
import { PROGRAM_COMMANDS } from "./commands/program-commands.js";
import { SERVER_COMMANDS } from "./commands/server-commands.js";
import { USE_COMMANDS } from "./commands/use-commands.js";

export const COMMANDS: readonly CommandSpec[] = [
  ...SERVER_COMMANDS,
  ...USE_COMMANDS,
  ...LOOK_COMMANDS,
  ...PROGRAM_COMMANDS,
];
