/** Removes secrets from an error: from its message, its fields and its causes. */
import { ToolportError } from "./toolport-error.js";

export interface ErrorRedaction {
  /** For messages of Toolport, which may quote servers. */
  readonly own: (text: string) => string;
  /** For text that comes from elsewhere. */
  readonly foreign: (text: string) => string;
}

/** Fields that handlers compare, and a URL that the user must open unchanged. */
const KEPT: ReadonlySet<string> = new Set([
  "name",
  "code",
  "server",
  "tool",
  "outcome",
  "authUrl",
  "message",
  "stack",
]);
const SENTENCES: ReadonlySet<string> = new Set(["what", "next"]);
const MAX_LEVELS = 100;

/**
 * Redacts a `ToolportError` in place, so that it keeps its identity. Other errors among its causes are replaced by copies. Any
 * other value stays unchanged.
 */
export function redactError(error: unknown, redaction: ErrorRedaction): void {
  redactOwn(error, redaction, new Map());
}

type Seen = Map<object, unknown>;

function redactOwn(error: unknown, redaction: ErrorRedaction, seen: Seen): void {
  if (!ToolportError.isInstance(error) || seen.has(error)) return;
  seen.set(error, error);
  const { message } = error;
  const shown = redaction.own(message);
  if (shown !== message) {
    define(
      error,
      "stack",
      error.stack?.replace(message, () => shown),
    );
    define(error, "message", shown);
  }
  for (const key of Object.getOwnPropertyNames(error)) {
    if (KEPT.has(key)) continue;
    const value = (error as unknown as Record<string, unknown>)[key];
    const redact = SENTENCES.has(key) ? redaction.own : redaction.foreign;
    const clean =
      typeof value === "string" ? redact(value) : redactValue(value, redaction, { seen, level: 0 });
    if (clean !== value) define(error, key, clean);
  }
}

/** Keeps the enumerability of the property. */
function define(target: object, key: string, value: unknown): void {
  const enumerable = Object.getOwnPropertyDescriptor(target, key)?.enumerable ?? false;
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
}

/**
 * Returns the value without secrets: the value itself if it contains none, else a copy. Looks into arrays, plain objects and
 * errors; other objects stay unchanged.
 */
export function redactValue(
  value: unknown,
  redaction: ErrorRedaction,
  { seen = new Map(), level = 0 }: { seen?: Seen; level?: number } = {},
): unknown {
  if (typeof value === "string") return redaction.foreign(value);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  if (ToolportError.isInstance(value)) {
    redactOwn(value, redaction, seen);
    return value;
  }
  if (level > MAX_LEVELS) return "[nested too deeply]";
  // Replaces references to the value inside itself, because the copy does not exist yet.
  seen.set(value, "[circular]");
  const inside = (inner: unknown) => redactValue(inner, redaction, { seen, level: level + 1 });
  const copy = Array.isArray(value)
    ? redactList(value, inside)
    : value instanceof Error
      ? redactForeign(value, redaction, inside)
      : isPlain(value)
        ? redactObject(value, redaction, inside)
        : value;
  seen.set(value, copy);
  return copy;
}

function redactList(list: readonly unknown[], inside: (inner: unknown) => unknown): readonly unknown[] {
  const copy = list.map(inside);
  return copy.every((item, index) => item === list[index]) ? list : copy;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function redactObject(
  value: Record<string, unknown>,
  { foreign }: ErrorRedaction,
  inside: (inner: unknown) => unknown,
): Record<string, unknown> {
  const entries = Object.entries(value);
  const copies = entries.map(([key, inner]) => [foreign(key), inside(inner)] as const);
  const isSame = copies.every(
    ([key, inner], index) => key === entries[index]![0] && inner === entries[index]![1],
  );
  return isSame ? value : Object.fromEntries(copies);
}

/** Copies an error of another library instead of changing it: it may belong to the caller. */
function redactForeign(
  error: Error,
  { foreign }: ErrorRedaction,
  inside: (inner: unknown) => unknown,
): Error {
  const own = Object.getOwnPropertyDescriptors(error) as Record<string, PropertyDescriptor>;
  let isChanged = false;
  for (const [key, descriptor] of Object.entries(own)) {
    const { value } = descriptor;
    if (!("value" in descriptor) || key === "stack" || value === undefined) continue;
    const clean = inside(value);
    if (clean === value) continue;
    own[key] = { ...descriptor, value: clean };
    isChanged = true;
  }
  const { message, stack } = error;
  const shown = foreign(message);
  if (shown !== message || isChanged)
    own["stack"] = {
      value: stack?.replace(message, () => shown),
      enumerable: false,
      writable: true,
      configurable: true,
    };
  else return error;
  return Object.defineProperties(Object.setPrototypeOf(new Error(shown), Object.getPrototypeOf(error)), own);
}
