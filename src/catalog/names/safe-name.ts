/** One tool's name in the form every provider takes, whatever its server calls it. */
import { fingerprint } from "../safety/fingerprint.js";
import { toAsciiName } from "../safety/look-alikes.js";

const MAX_LENGTH = 64;
/** The length is not part of it: a pattern that counts takes milliseconds to compile. */
const VALID_CHARACTERS = /^[a-zA-Z_][a-zA-Z0-9_-]*$/;
const SEPARATOR = "__";
/** What a long prefix keeps at least, so that one still sees whose tool it is. */
const MIN_PREFIX = 16;

/** What a name is made of. */
export interface NameParts {
  /** What stands before the tool's own name, in order. */
  readonly prefixes: readonly string[];
  readonly tool: string;
}

/** Whether every provider takes the name as it is. */
export const isSafeName = (name: string): boolean => name.length <= MAX_LENGTH && VALID_CHARACTERS.test(name);

/** The name as it would be if providers took anything. */
export function joinName({ prefixes, tool }: NameParts): string {
  let name = "";
  for (const prefix of prefixes) name += prefix + SEPARATOR;
  return name + tool;
}

/** Control characters and other scripts apart, which a name without a mark would hide. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

/**
 * The name with `_` for what providers refuse: `files.read` → `files_read`. Undefined where nothing would be left of a part, or
 * where the name is too long.
 */
export function cleanName({ prefixes, tool }: NameParts): string | undefined {
  const parts = [...prefixes, tool];
  if (!parts.every((part) => part.length <= MAX_LENGTH && PLAIN_TEXT.test(part))) return undefined;
  const cleaned = parts.map(toAsciiName);
  if (cleaned.includes("")) return undefined;
  const joined = cleaned.join(SEPARATOR);
  // A tool's own name is not changed at its start: `_1ist_too1s` would not count as a look-alike of `list_tools`.
  const name = prefixes.length === 0 ? joined : withFirstLetter(joined);
  return isSafeName(name) ? name : undefined;
}

/** A name begins with a letter or `_`. */
const withFirstLetter = (name: string): string => (/^[a-zA-Z_]/.test(name) ? name : `_${name}`);

/**
 * The names a tool may get where it cannot have its plain one: ever new ones with a fingerprint. Which ones depends on
 * nothing but the tool, so they are the same every time.
 */
export function* markedNames(parts: NameParts, identity: string): Generator<string, never> {
  // Nothing beyond the first characters can end up in the name, however long a hostile server makes it.
  const prefixes = parts.prefixes.map((part) => toAsciiName(part.slice(0, 256)) || "server");
  const prefix = prefixes.map((part) => part + SEPARATOR).join("");
  const tool = toAsciiName(parts.tool.slice(0, 256)) || "tool";
  for (let attempt = 1; ; attempt += 1) {
    const suffix = `_${fingerprint(attempt === 1 ? identity : `${identity}\u0000${attempt}`)}`;
    yield shorten(prefix, tool, MAX_LENGTH - suffix.length) + suffix;
  }
}

/** A prefix gives way before the tool's own name does. */
function shorten(prefix: string, tool: string, room: number): string {
  const lead = withFirstLetter(prefix + tool).slice(0, -tool.length);
  const leadRoom = Math.max(Math.min(lead.length, MIN_PREFIX), room - tool.length);
  const shortLead =
    lead.length <= leadRoom ? lead : `${lead.slice(0, leadRoom - SEPARATOR.length)}${SEPARATOR}`;
  return (shortLead + tool).slice(0, room).replace(/[_-]+$/, "");
}
