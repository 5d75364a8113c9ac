/** Names that every provider takes, no two alike, and the same tomorrow as today. */

const MAX_LENGTH = 64;
const VALID = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
/** Names of Toolport's own tools. */
const RESERVED = new Set(["search_tools", "call_tool", "list_resources", "read_resource"]);

/** A short fingerprint (FNV-1a, 32 bits, in base 36): names need to be told apart, not kept secret. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(36).padStart(7, "0");
}

/** The name without anything a provider would refuse. A name that had to be changed carries a fingerprint. */
export function safeName(wanted: string, identity: string): string {
  if (VALID.test(wanted) && !RESERVED.has(wanted)) return wanted;
  const suffix = `_${fingerprint(identity)}`;
  const cleaned = wanted.replace(/[^a-zA-Z0-9_-]/g, "_").replace(/^(?=[^a-zA-Z_])/, "_");
  return `${cleaned.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
}

/**
 * Gives a tool its public name.
 *
 * @param taken names given before it; the first to come keeps the bare name, every later one gets a fingerprint
 */
export function publicName(
  { server, tool, prefix }: { server: string; tool: string; prefix: boolean },
  taken: ReadonlySet<string>,
): string {
  const identity = `${server}\u0000${tool}`;
  const wanted = prefix ? `${server}__${tool}` : tool;
  const name = safeName(wanted, identity);
  if (!taken.has(name.toLowerCase())) return name;
  const suffix = `_${fingerprint(identity)}`;
  const unlike = `${name.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
  for (let count = 2; ; count += 1) {
    const candidate = count === 2 ? unlike : `${unlike.slice(0, MAX_LENGTH - 4)}_${count}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}
