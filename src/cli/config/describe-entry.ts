/** Describes what a server entry runs or calls, as escaped text. */
import type { ServerEntry } from "../../config/server-entry.js";
import { type CommandDescription, describeCommand } from "../../node/describe-command.js";
import { plainLine } from "../plain-text.js";

/** Like `describeCommand`. Falls back to the fields of an entry that is incomplete, such as a URL with a variable. */
export function describeEntry(
  entry: unknown,
): Pick<CommandDescription, "command" | "startsProcess" | "text"> {
  try {
    return describeCommand(entry as ServerEntry);
  } catch {
    const { command, args, url, image } = entry as Record<string, unknown>;
    const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
    const shown = plainLine(words.length > 0 ? words.join(" ") : String(url ?? image ?? "(unknown)"));
    const startsProcess = command !== undefined || image !== undefined;
    return { command: shown, startsProcess, text: `${startsProcess ? "runs" : "calls"}      ${shown}` };
  }
}
