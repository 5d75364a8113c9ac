/** Converts the name of a tool to a form that every provider accepts. */
import { toAsciiName } from "./look-alikes.js";

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

/** Base 32 without i, l, o and u: no two of its characters look alike. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const FINGERPRINT_LENGTH = 10;
const encoder = new TextEncoder();

/** FNV-1a, 64 bits, over the UTF-8 bytes, in two halves. http://www.isthe.com/chongo/tech/comp/fnv/ */
function fnv1a64(text: string): readonly [high: number, low: number] {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of encoder.encode(text)) {
    low = (low ^ byte) >>> 0;
    // The prime is 2^40 + 0x1b3; all products stay below 2^53, where numbers are exact.
    const product = low * 0x1b3;
    high = (high * 0x1b3 + Math.floor(product / 0x1_0000_0000) + low * 0x100) % 0x1_0000_0000;
    low = product % 0x1_0000_0000;
  }
  return [high, low];
}

/**
 * A fingerprint of 50 bits: FNV-1a 64 over UTF-8, its upper 14 bits XORed into the lower 50 (the fold its authors
 * recommend), written as ten digits of base 32, most significant first. Users and models store names, so this must
 * never change. Among 100,000 tools the probability of a collision is about 1 in 200,000. It can be forged, so
 * callers check that the name is free.
 */
export function fingerprint(text: string): string {
  const [high, low] = fnv1a64(text);
  let value = (high % 0x4_0000) * 0x1_0000_0000 + ((low ^ (high >>> 18)) >>> 0);
  let digits = "";
  for (let index = 0; index < FINGERPRINT_LENGTH; index += 1) {
    digits = DIGITS[value % 32]! + digits;
    value = Math.floor(value / 32);
  }
  return digits;
}

/** Identifies a tool, independent of its public name. */
export const toolIdentity = (server: string, sourceName: string): string => `${server}\u0000${sourceName}`;
