/** `toolport remove`. */
import type { CommandModule } from "../command.js";
import { changeServers } from "../config/change-servers.js";

export const run: CommandModule["run"] = (invocation, shell) => changeServers(invocation, shell, "remove");
