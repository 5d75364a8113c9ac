/** A look of the user's at everything a model would read of a tool. */
import type { ServerRef } from "../config/listed-tool.js";
import { type ModelString, modelStrings } from "./model-strings.js";
import type { SourceTool } from "./source-tool.js";

/**
 * Sees every text of a tool that a model will read. A reason returned withholds the tool.
 *
 * @example
 * ```ts
 * const scan: ScanHook = (_server, _tool, strings) =>
 *   strings.some(({ text }) => text.includes("<IMPORTANT>")) ? "It speaks to the model" : undefined;
 * ```
 */
export type ScanHook = (
  server: ServerRef,
  tool: { readonly name: string },
  strings: readonly ModelString[],
) => string | undefined | Promise<string | undefined>;

/** Why these tools are withheld, by name. A scan that throws withholds the tool it threw on. */
export async function scanTools(
  scan: ScanHook | undefined,
  server: ServerRef,
  tools: readonly SourceTool[],
): Promise<ReadonlyMap<string, string>> {
  const refused = new Map<string, string>();
  if (scan === undefined) return refused;
  for (const tool of tools) {
    try {
      const reason = await scan(server, { name: tool.sourceName }, modelStrings(tool));
      if (typeof reason === "string") refused.set(tool.sourceName, `Refused by the scan: ${reason}`);
    } catch (error) {
      refused.set(tool.sourceName, `The scan failed: ${String(error)}`);
    }
  }
  return refused;
}
