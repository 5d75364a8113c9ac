/** The hash of a tool over its canonical JSON, to detect changes by its server. */
import { canonicalJson, sha256 } from "@toolport/base";

/**
 * Fields that belong to the definition: those that models see and the annotations. Icons, `_meta` and
 * `execution` do not: they change with the version of a server, and models do not see them.
 */
const HASHED_FIELDS = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/**
 * Hexadecimal SHA-256 over the canonical JSON of a tool as its server sent it, before sanitising and renaming.
 * The order of keys does not matter; every other byte does.
 *
 * @param rawTool the entry of `tools/list`
 */
export async function definitionHash(rawTool: Readonly<Record<string, unknown>>): Promise<string> {
  return sha256(definitionText(rawTool));
}

/** The text that is hashed. */
export function definitionText(rawTool: Readonly<Record<string, unknown>>): string {
  return canonicalJson(Object.fromEntries(HASHED_FIELDS.map((field) => [field, rawTool[field]])));
}
