/** A tool's definition as one hash, to notice when its server changes it. */
import { canonicalJson } from "./canonical-json.js";

/**
 * What counts as the definition: what a model reads and what decides how the tool is judged. Icons, `_meta` and
 * `execution` do not: they change with a server's version and cannot speak to a model.
 */
const HASHED_FIELDS = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

const encoder = new TextEncoder();

/**
 * SHA-256, in hexadecimal, over the canonical JSON of a tool as its server sent it: before any character was removed
 * or anything renamed. The order of keys does not matter, every other byte does.
 *
 * @param rawTool the entry of `tools/list`
 */
export async function definitionHash(rawTool: Readonly<Record<string, unknown>>): Promise<string> {
  const definition = Object.fromEntries(HASHED_FIELDS.map((field) => [field, rawTool[field]]));
  const digest = await globalThis.crypto.subtle.digest("SHA-256", encoder.encode(canonicalJson(definition)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
