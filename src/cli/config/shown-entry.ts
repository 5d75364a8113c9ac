/** What a server would run or call, in words that are safe to print. */
import type { ServerEntry } from "../../config/server-entry.js";
import { type CommandDescription, describeCommand } from "../../node/describe-command.js";
import { plainLine } from "../plain-text.js";

/** As `describeCommand`; an entry that is not whole yet (a variable in its URL) is shown by its fields. */
export function describeEntry(
  entry: unknown,
): Pick<CommandDescription, "command" | "startsProcess" | "text"> {
  try {
    return describeCommand(entry as ServerEntry);
  } catch {
    const { command, args, url, image } = entry as Record<string, unknown>;
    const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
    const shown = plainLine(words.length > 0 ? words.join(" ") : String(url ?? image ?? "(not known)"));
    const startsProcess = command !== undefined || image !== undefined;
    return { command: shown, startsProcess, text: `${startsProcess ? "runs" : "calls"}      ${shown}` };
  }
}
