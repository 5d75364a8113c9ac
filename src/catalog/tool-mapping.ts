/** Names and descriptions that the user's mappers return. */
import type { ListedTool, ServerRef } from "../model/listed-tool.js";

/**
 * Names a tool. The name replaces the prefix. Toolport still makes it valid for every provider and unique.
 *
 * @example
 * ```ts
 * const mapper: ToolNameMapper = (server, tool) => `${server.name}_${tool.name}`;
 * ```
 */
export type ToolNameMapper = (server: ServerRef, tool: ListedTool) => string;

/**
 * Changes the definition that models see: name, title, description, schema. The server still receives its own name.
 *
 * @example
 * ```ts
 * const mapper: ToolSpecificationMapper = (_server, tool) => ({ ...tool, description: tool.description?.toUpperCase() });
 * ```
 */
export type ToolSpecificationMapper = (server: ServerRef, tool: ListedTool) => ListedTool;

/** Calls a mapper for one tool; if it throws, the tool stays unchanged. */
export function mapTool<Tool extends ListedTool>(
  mapper: ToolSpecificationMapper | undefined,
  { server, tool }: { server: ServerRef; tool: Tool },
  report: (message: string) => void,
): Tool {
  if (mapper === undefined) return tool;
  try {
    const mapped = mapper(server, tool);
    // Avoids an unhandled rejection; a promise is not a tool.
    if (mapped instanceof Promise) {
      mapped.catch(() => {});
      throw new TypeError("it is asynchronous; mappers must be synchronous");
    }
    const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = mapped;
    return { ...tool, name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
  } catch (error) {
    report(`toolSpecificationMapper threw for ${server.name}/${tool.name}: ${String(error)}`);
    return tool;
  }
}
