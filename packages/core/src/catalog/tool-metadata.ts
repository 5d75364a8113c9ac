/** The metadata of a tool that models do not need, as one flat record. */
import type { ToolInfo } from "@toolport/base";

/** Keys of {@link toolMetadata}. They equal those of LangChain4j where it has the same. */
export const McpToolMetadataKeys = {
  /** `title` of the definition: a string. */
  TITLE: "title",
  /** `annotations.title`, which is a different field: a string. */
  ANNOTATION_TITLE: "title-annotation",
  /** A boolean, like all hints; the server claims it. */
  READ_ONLY_HINT: "readOnlyHint",
  DESTRUCTIVE_HINT: "destructiveHint",
  IDEMPOTENT_HINT: "idempotentHint",
  OPEN_WORLD_HINT: "openWorldHint",
  /** A list of icon objects. */
  ICONS: "icons",
  /** How the tool may be run, such as `{ taskSupport: "optional" }`. */
  EXECUTION: "execution",
  /** The whole `_meta`; its entries are also present under their own keys. */
  META: "_meta",
  /** The JSON Schema of `structuredContent`. */
  OUTPUT_SCHEMA: "outputSchema",
  /** The server's name in the configuration. */
  SERVER: "server",
  /** The tool's name on its server. */
  SOURCE_NAME: "sourceName",
} as const;

/**
 * The metadata of a tool under {@link McpToolMetadataKeys}, and the entries of its `_meta` under their own keys. An entry of
 * `_meta` never replaces a key of Toolport. Missing fields are left out.
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
  // `_meta.readOnlyHint` must not be mistaken for the annotation, even if there is no annotation.
  const own = Object.entries(tool._meta ?? {}).filter(([key]) => !Object.hasOwn(known, key));
  const said = Object.entries(known).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...own, ...said]);
}
