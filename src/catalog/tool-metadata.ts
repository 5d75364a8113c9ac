/** Everything a server says about a tool beside what a model needs, as one flat record. */
import type { ToolInfo } from "../model/tool-info.js";

/** Keys of {@link toolMetadata}. Where LangChain4j has a key of the same meaning, it is the same. */
export const McpToolMetadataKeys = {
  /** `title` of the definition itself: a string. */
  TITLE: "title",
  /** `annotations.title`, which is another thing: a string. */
  ANNOTATION_TITLE: "title-annotation",
  /** A boolean, as all hints; a claim of the server's. */
  READ_ONLY_HINT: "readOnlyHint",
  DESTRUCTIVE_HINT: "destructiveHint",
  IDEMPOTENT_HINT: "idempotentHint",
  OPEN_WORLD_HINT: "openWorldHint",
  /** A list of icon objects. */
  ICONS: "icons",
  /** How the tool may be run, such as `{ taskSupport: "optional" }`. */
  EXECUTION: "execution",
  /** `_meta` whole; its entries are also there under their own keys. */
  META: "_meta",
  /** The JSON Schema of `structuredContent`. */
  OUTPUT_SCHEMA: "outputSchema",
  /** The server's name in the configuration. */
  SERVER: "server",
  /** The tool's name on its server. */
  SOURCE_NAME: "sourceName",
} as const;

/**
 * A tool's metadata under {@link McpToolMetadataKeys}, and the entries of its `_meta` under their own keys. An entry of
 * `_meta` never hides one of ours; what the server does not say is not there.
 */
export function toolMetadata(tool: ToolInfo): Record<string, unknown> {
  const keys = McpToolMetadataKeys;
  const known: Record<string, unknown> = {
    [keys.TITLE]: tool.title,
    [keys.ANNOTATION_TITLE]: tool.annotations?.title,
    [keys.READ_ONLY_HINT]: tool.annotations?.readOnlyHint,
    [keys.DESTRUCTIVE_HINT]: tool.annotations?.destructiveHint,
    [keys.IDEMPOTENT_HINT]: tool.annotations?.idempotentHint,
    [keys.OPEN_WORLD_HINT]: tool.annotations?.openWorldHint,
    [keys.ICONS]: tool.icons,
    [keys.EXECUTION]: tool.execution,
    [keys.META]: tool._meta,
    [keys.OUTPUT_SCHEMA]: tool.outputSchema,
    [keys.SERVER]: tool.server,
    [keys.SOURCE_NAME]: tool.sourceName,
  };
  // A `_meta.readOnlyHint` must not pass for the annotation, not even where there is no annotation.
  const own = Object.entries(tool._meta ?? {}).filter(([key]) => !Object.hasOwn(known, key));
  const said = Object.entries(known).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...own, ...said]);
}
