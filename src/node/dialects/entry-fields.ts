/** Takes the fields of a foreign entry one by one; what nobody took is kept aside and mentioned. */
import type { ConfigPath } from "../../config/config-issues.js";
import { isRecord } from "../../config/entry-reader.js";
import type { DialectEntry, FieldNote, RawFields } from "./dialect.js";

/** How what is left of an entry is spoken of. */
export interface Leftovers {
  /** Whose files these are. */
  readonly title: string;
  /** Fields that change nothing here, and need no word. */
  readonly quiet?: readonly string[];
  /** Fields that would change something, and what becomes of them. */
  readonly unsupported?: Readonly<Record<string, string>>;
}

export class EntryFields {
  readonly entry: Record<string, unknown> = {};
  readonly #left: Map<string, unknown>;
  readonly #warnings: FieldNote[] = [];
  readonly #problems: FieldNote[] = [];
  readonly #origins = new Map<string, ConfigPath>();
  readonly #passedVariables: string[] = [];
  #envFile: string | undefined;

  constructor(raw: RawFields) {
    // Programs write null for "not given"; `__proto__` is a field like any other and ends among the unknown ones.
    this.#left = new Map(Object.entries(raw).filter(([, value]) => value !== null && value !== undefined));
  }

  get names(): string[] {
    return [...this.#left.keys()];
  }

  has(key: string): boolean {
    return this.#left.has(key);
  }

  /** The value of a field, which then counts as used. */
  take(key: string): unknown {
    const value = this.#left.get(key);
    this.#left.delete(key);
    return value;
  }

  /** Puts a value into the entry and remembers which field of the file it came from. */
  put(key: string, value: unknown, origin: ConfigPath = [key]): void {
    if (value === undefined || Object.hasOwn(this.entry, key)) return;
    // Defined, not assigned: `__proto__` must become a field, for the check to find.
    Object.defineProperty(this.entry, key, { value, enumerable: true, configurable: true, writable: true });
    this.setOrigin([key], origin);
  }

  /** Says where something inside the entry came from, if that is not obvious. */
  setOrigin(path: ConfigPath, origin: ConfigPath): void {
    this.#origins.set(JSON.stringify(path), origin);
  }

  /** Hands a field on as it is, under our name for it. The first of several spellings counts. */
  move(from: string, to: string = from): void {
    if (!this.has(from)) return;
    if (Object.hasOwn(this.entry, to)) {
      const first = this.#origins.get(JSON.stringify([to]))?.[0] ?? to;
      this.warn([from], `says the same as "${first}", which counts`);
      this.take(from);
    } else this.put(to, this.take(from), [from]);
  }

  /** Adds to a map such as `env` or `headers`; what is there already stays. */
  addTo(
    key: "env" | "headers",
    name: string,
    { value, origin }: { value: string; origin: ConfigPath },
  ): void {
    const present = this.entry[key];
    if (present !== undefined && !isRecord(present)) return;
    if (present !== undefined && Object.hasOwn(present, name)) return;
    this.entry[key] = { ...present, [name]: value };
    this.setOrigin([key, name], origin);
  }

  /** A variable the process gets if it is set. */
  passVariable(name: string): void {
    this.#passedVariables.push(name);
  }

  setEnvFile(path: string): void {
    this.#envFile = path;
  }

  warn(path: ConfigPath, message: string): void {
    this.#warnings.push({ path, message });
  }

  problem(path: ConfigPath, message: string): void {
    this.#problems.push({ path, message });
  }

  #originOf(path: ConfigPath): ConfigPath {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#origins.get(JSON.stringify(path.slice(0, length)));
      if (origin !== undefined) return [...origin, ...path.slice(length)];
    }
    return path;
  }

  /** Ends the reading: what is left goes to `extra`. */
  finish({ title, quiet = [], unsupported = {} }: Leftovers): DialectEntry {
    const extra: [string, unknown][] = [];
    for (const [key, value] of this.#left) {
      extra.push([key, value]);
      if (quiet.includes(key)) continue;
      const reason = Object.hasOwn(unsupported, key) ? unsupported[key] : undefined;
      this.warn(
        [key],
        reason ?? `is not a field that Toolport knows in a file of ${title}; it is left alone`,
      );
    }
    return {
      entry: this.entry,
      extra: Object.fromEntries(extra),
      warnings: this.#warnings,
      problems: this.#problems,
      originOf: (path) => this.#originOf(path),
      passedVariables: this.#passedVariables,
      envFile: this.#envFile,
    };
  }
}
