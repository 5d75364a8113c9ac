/** Suggests a short name for a server from its registry name. */

/** Names that are too common. */
const GENERIC: ReadonlySet<string> = new Set(["mcp", "server", "mcp-server", "mcp_server", "mcpserver"]);
const MAX_LENGTH = 40;
/** Names that are not allowed. */
const RESERVED: ReadonlySet<string> = new Set(["", "__proto__", "constructor", "prototype"]);

/**
 * Returns the part after the slash, or the publisher's name if that part is too generic.
 *
 * @example
 * ```ts
 * suggestServerName("io.github.user/weather"); // "weather"
 * suggestServerName("io.figma/mcp-server"); // "figma"
 * ```
 */
export function suggestServerName(name: string): string {
  const slash = name.lastIndexOf("/");
  const own = name.slice(slash + 1);
  const publisher = slash < 0 ? "" : (name.slice(0, slash).split(".").at(-1) ?? "");
  const chosen = GENERIC.has(own.toLowerCase()) && publisher !== "" ? publisher : own;
  const clean = chosen
    .replace(/[^a-zA-Z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, MAX_LENGTH);
  return RESERVED.has(clean) ? "server" : clean;
}
