/** Names for tools that come from several ports. */
import { toolIdentity } from "../../catalog/assign-names.js";
import { candidateNames } from "../../catalog/safe-name.js";
import type { ToolInfo } from "../../catalog/tool-info.js";

/** Names tools one after the other: each keeps the name of its port, unless another has it already. */
export function uniqueNames(additionalPrefix: string): (tool: ToolInfo) => string {
  const taken = new Set<string>();
  return ({ name, server, sourceName }) => {
    const prefixes = additionalPrefix === "" ? [] : [additionalPrefix];
    const others = candidateNames({ prefixes, tool: sourceName }, toolIdentity(server, sourceName));
    let free = name;
    while (taken.has(free)) free = others.next().value as string;
    taken.add(free);
    return free;
  };
}
