/** Fast path for lists in which every tool can have its plain name, which is nearly every list. */
import type { ServerRef } from "../../model/listed-tool.js";
import type { SourceTool } from "../source-tool.js";
import type { NameOwners } from "./name-owners.js";
import { joinName } from "./safe-name.js";

export interface NamedTool {
  readonly server: ServerRef;
  readonly tool: SourceTool;
}

/** Identifies a tool, independent of its public name. */
export const toolIdentity = (server: string, sourceName: string): string => `${server}\u0000${sourceName}`;

/**
 * Undefined as soon as one tool cannot have the name it wants. Without collisions the order does not matter, and there are
 * no issues to report.
 */
export function plainNames(
  tools: readonly NamedTool[],
  owners: NameOwners,
  prefixesOf: (server: string) => readonly string[],
): string[] | undefined {
  const names: string[] = [];
  let last: ServerRef | undefined;
  let lead = "";
  for (const { server, tool } of tools) {
    const { sourceName } = tool;
    // A name from the user's mapper.
    if (tool.name !== sourceName) return undefined;
    if (server !== last) lead = joinName({ prefixes: prefixesOf(server.name), tool: "" });
    last = server;
    const name = lead + sourceName;
    if (!owners.claim(name, toolIdentity(server.name, sourceName))) return undefined;
    names.push(name);
  }
  return names;
}
