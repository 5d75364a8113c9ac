/** Names and descriptions of the user's own making. */
import type { ListedTool, ServerRef } from "../model/listed-tool.js";

/**
 * Names a tool. The name replaces the prefix; it is still made valid for every provider and unlike any other.
 *
 * @example
 * ```ts
 * const mapper: ToolNameMapper = (server, tool) => `${server.name}_${tool.name}`;
 * ```
 */
export type ToolNameMapper = (server: ServerRef, tool: ListedTool) => string;

/**
 * Changes what a tool says about itself: name, title, description, schema. The server still gets its own name.
 *
 * @example
 * ```ts
 * const mapper: ToolSpecificationMapper = (_server, tool) => ({ ...tool, description: tool.description?.toUpperCase() });
 * ```
 */
export type ToolSpecificationMapper = (server: ServerRef, tool: ListedTool) => ListedTool;

/** A mapper of the user's is asked about one tool; if it throws, the tool stays as it is. */
export function mapTool<Tool extends ListedTool>(
  mapper: ToolSpecificationMapper | undefined,
  { server, tool }: { server: ServerRef; tool: Tool },
  report: (message: string) => void,
): Tool {
  if (mapper === undefined) return tool;
  try {
    const mapped = mapper(server, tool);
    // Its rejection would be nobody's, and its members are no tool's.
    if (mapped instanceof Promise) {
      mapped.catch(() => {});
      throw new TypeError("it is asynchronous, which mappers cannot be");
    }
    const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = mapped;
    return { ...tool, name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
  } catch (error) {
    report(`toolSpecificationMapper threw for ${server.name}/${tool.name}: ${String(error)}`);
    return tool;
  }
}
