/** Assigns unique names to tools of several ports. */
import { toolIdentity } from "../../catalog/names/plain-names.js";
import { isSafeName, joinName, markedNames } from "../../catalog/names/safe-name.js";
import type { ToolInfo } from "../../model/tool-info.js";

/** Names tools one after the other: each keeps its name unless another tool already has it. */
export function uniqueNames(additionalPrefix: string): (tool: ToolInfo) => string {
  const taken = new Set<string>();
  return ({ name, server, sourceName }) => {
    let free = name;
    if (taken.has(free)) {
      const parts = { prefixes: additionalPrefix === "" ? [] : [additionalPrefix], tool: sourceName };
      const others = markedNames(parts, toolIdentity(server, sourceName));
      const plain = joinName(parts);
      if (isSafeName(plain)) free = plain;
      while (taken.has(free)) free = others.next().value;
    }
    taken.add(free);
    return free;
  };
}
