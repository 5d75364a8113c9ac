/** The names of a list in which every tool can have its plain one, which is nearly every list there is. */
import type { ServerRef } from "../../model/listed-tool.js";
import type { SourceTool } from "../source-tool.js";
import type { NameOwners } from "./name-owners.js";
import { joinName } from "./safe-name.js";

export interface NamedTool {
  readonly server: ServerRef;
  readonly tool: SourceTool;
}

/** Who a tool is, whatever it is called in public. */
export const toolIdentity = (server: string, sourceName: string): string => `${server}\u0000${sourceName}`;

/**
 * Undefined as soon as one tool cannot have the name it wants. Until then nobody stands in anybody's way, so it does not
 * matter who is asked first, and there is nothing to tell about any of them.
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
    // A name of the user's making.
    if (tool.name !== sourceName) return undefined;
    if (server !== last) lead = joinName({ prefixes: prefixesOf(server.name), tool: "" });
    last = server;
    const name = lead + sourceName;
    if (!owners.claim(name, toolIdentity(server.name, sourceName))) return undefined;
    names.push(name);
  }
  return names;
}
