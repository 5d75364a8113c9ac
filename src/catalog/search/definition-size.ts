/** The size of a tool's definition, as models get it. */
import type { ToolInfo } from "../../model/tool-info.js";
import { jsonBytes } from "../../util/json-bytes.js";

/** The definition as compact JSON: name, description and input schema. */
export const definitionText = (tool: ToolInfo): string => JSON.stringify(definitionOf(tool));

const definitionOf = ({ name, description, inputSchema }: ToolInfo) => ({ name, description, inputSchema });

/** Listed tools never change, and users share them. */
const sizes = new WeakMap<ToolInfo, number>();

/** The size of {@link definitionText} in UTF-8. */
export function definitionBytes(tool: ToolInfo): number {
  let bytes = sizes.get(tool);
  if (bytes === undefined) {
    bytes = jsonBytes(definitionOf(tool));
    sizes.set(tool, bytes);
  }
  return bytes;
}
