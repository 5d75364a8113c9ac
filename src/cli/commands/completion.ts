/** `toolport completion`: prints what a shell has to be told. */
import type { CommandModule } from "../command.js";
import { type CompletedShell, SHELL_SCRIPTS } from "../completion/shell-scripts.js";
import { EXIT } from "../exit-codes.js";

export const run: CommandModule["run"] = async ({ words }, shell) => {
  const name = words[0] as CompletedShell;
  const script = SHELL_SCRIPTS[name];
  if (shell.form === "json") shell.printJson({ shell: name, script });
  else shell.print(script.trimEnd());
  return EXIT.ok;
};
