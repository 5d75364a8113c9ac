/** `toolport __complete -- <words>`: what shells ask while somebody types. Silent whatever is wrong. */
import type { CommandModule } from "../command.js";
import { COMMANDS } from "../commands.js";
import { completeLine } from "../completion/complete-line.js";
import { createLookUp } from "../completion/look-up.js";
import { EXIT } from "../exit-codes.js";

export const run: CommandModule["run"] = async ({ behind }, shell) => {
  try {
    const candidates = await completeLine(behind, COMMANDS, createLookUp(shell));
    if (shell.form === "json") shell.printJson({ candidates });
    else
      for (const { value, meaning } of candidates)
        shell.print(meaning === "" ? value : `${value}\t${meaning}`);
  } catch {
    // A message in the middle of a line that is being typed helps nobody.
  }
  return EXIT.ok;
};
