/** Converts the name of a tool to a form that every provider accepts. */
import { fingerprint } from "../safety/fingerprint.js";
import { toAsciiName } from "../safety/look-alikes.js";

const MAX_LENGTH = 64;
/** Without the length, because a counting pattern takes milliseconds to compile. */
const VALID_CHARACTERS = /^[a-zA-Z_][a-zA-Z0-9_-]*$/;
const SEPARATOR = "__";
/** Minimum length of a shortened prefix, so that the server stays recognisable. */
const MIN_PREFIX = 16;

/** The parts of a name. */
export interface NameParts {
  /** Prefixes of the tool's own name, in order. */
  readonly prefixes: readonly string[];
  readonly tool: string;
}

/** True if every provider accepts the name unchanged. */
export const isSafeName = (name: string): boolean => name.length <= MAX_LENGTH && VALID_CHARACTERS.test(name);

/** The name without provider rules. */
export function joinName({ prefixes, tool }: NameParts): string {
  let name = "";
  for (const prefix of prefixes) name += prefix + SEPARATOR;
  return name + tool;
}

/** Matches control characters and other scripts, which must not be replaced silently. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

/**
 * The name with `_` for invalid characters: `files.read` → `files_read`. Undefined if nothing of a part would be left, or if
 * the name is too long.
 */
export function cleanName({ prefixes, tool }: NameParts): string | undefined {
  const parts = [...prefixes, tool];
  if (!parts.every((part) => part.length <= MAX_LENGTH && PLAIN_TEXT.test(part))) return undefined;
  const cleaned = parts.map(toAsciiName);
  if (cleaned.includes("")) return undefined;
  const joined = cleaned.join(SEPARATOR);
  // The start of the tool's own name is not changed: `_1ist_too1s` would not count as a look-alike of `list_tools`.
  const name = prefixes.length === 0 ? joined : withFirstLetter(joined);
  return isSafeName(name) ? name : undefined;
}

/** A name begins with a letter or `_`. */
const withFirstLetter = (name: string): string => (/^[a-zA-Z_]/.test(name) ? name : `_${name}`);

/**
 * An endless sequence of names with fingerprints, for a tool that cannot have its plain name. It depends on the tool only, so
 * it is the same every time.
 */
export function* markedNames(parts: NameParts, identity: string): Generator<string, never> {
  // Only the first characters can end up in the name, so a very long name from a hostile server is cut first.
  const prefixes = parts.prefixes.map((part) => toAsciiName(part.slice(0, 256)) || "server");
  const prefix = prefixes.map((part) => part + SEPARATOR).join("");
  const tool = toAsciiName(parts.tool.slice(0, 256)) || "tool";
  for (let attempt = 1; ; attempt += 1) {
    const suffix = `_${fingerprint(attempt === 1 ? identity : `${identity}\u0000${attempt}`)}`;
    yield shorten(prefix, tool, MAX_LENGTH - suffix.length) + suffix;
  }
}

/** Shortens a prefix before the tool's own name. */
function shorten(prefix: string, tool: string, maxLength: number): string {
  const lead = withFirstLetter(prefix + tool).slice(0, -tool.length);
  const maxLead = Math.max(Math.min(lead.length, MIN_PREFIX), maxLength - tool.length);
  const shortLead =
    lead.length <= maxLead ? lead : `${lead.slice(0, maxLead - SEPARATOR.length)}${SEPARATOR}`;
  return (shortLead + tool).slice(0, maxLength).replace(/[_-]+$/, "");
}
