/** Reports servers that fail, need a login, or are back, on stderr. */
import type { StateChange } from "../../connection/connection-state.js";
import type { Toolport } from "../../toolport.js";
import type { CommandContext } from "../command-context.js";
import { shellWord } from "../next-command.js";

/** The same problem is reported once, until the server has been ready. Problems of single users are shown with `--verbose` only. */
export function reportStates(toolport: Toolport, context: CommandContext): () => void {
  const reported = new Map<string, string>();
  return toolport.on("state", ({ server, to, error, principal }: StateChange) => {
    if (principal !== undefined && !context.isVerbose) return;
    const key = JSON.stringify([server, principal]);
    const who = principal === undefined ? server : `${server} (user ${principal})`;
    if (to === "ready" && reported.delete(key)) return context.info(`${who} is available again`, "dim");
    const problem =
      to === "authenticating"
        ? `needs a login: toolport auth ${shellWord(server)}`
        : to === "failed" || to === "reconnecting"
          ? error?.what
          : undefined;
    if (problem === undefined || reported.get(key) === problem) return;
    reported.set(key, problem);
    context.warn(`${who}: ${problem}`);
  });
}
