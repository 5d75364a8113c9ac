/** Translates the fields of an entry one by one, and reports the fields that are left. */
import type { ConfigPath } from "../../config/config-issues.js";
import { isRecord } from "../../util/is-record.js";
import type { DialectEntry, FieldNote, RawFields } from "./dialect.js";

/** How to report the remaining fields. */
export interface Leftovers {
  /** Name of the program. */
  readonly title: string;
  /** Fields without effect, which need no warning. */
  readonly quiet?: readonly string[];
  /** Messages for unsupported fields. */
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
    // Some programs write null for a missing value.
    this.#left = new Map(Object.entries(raw).filter(([, value]) => value !== null && value !== undefined));
  }

  get names(): string[] {
    return [...this.#left.keys()];
  }

  has(key: string): boolean {
    return this.#left.has(key);
  }

  /** Returns the value of a field and marks it as used. */
  take(key: string): unknown {
    const value = this.#left.get(key);
    this.#left.delete(key);
    return value;
  }

  /** Sets a field of the entry and records which field of the file it came from. Keeps an existing value. */
  put(key: string, value: unknown, origin: ConfigPath = [key]): void {
    if (value === undefined || Object.hasOwn(this.entry, key)) return;
    // Assigning `__proto__` would set the prototype; it must become a field, so that the validation rejects it.
    Object.defineProperty(this.entry, key, { value, enumerable: true, configurable: true, writable: true });
    this.setOrigin([key], origin);
  }

  /** Records where a value inside the entry came from. */
  setOrigin(path: ConfigPath, origin: ConfigPath): void {
    this.#origins.set(JSON.stringify(path), origin);
  }

  /** Moves a field unchanged to Toolport's name for it. The first of several spellings counts. */
  move(from: string, to: string = from): void {
    if (!this.has(from)) return;
    if (Object.hasOwn(this.entry, to)) {
      const first = this.#origins.get(JSON.stringify([to]))?.[0] ?? to;
      this.warn([from], `has the same meaning as "${first}", which takes precedence`);
      this.take(from);
    } else this.put(to, this.take(from), [from]);
  }

  /** Adds a name to `env` or `headers`. Keeps an existing value. */
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

  /** Passes an environment variable to the process if it is set. */
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

  /** Returns the translated entry. The remaining fields go to `extra`. */
  finish({ title, quiet = [], unsupported = {} }: Leftovers): DialectEntry {
    const extra: [string, unknown][] = [];
    for (const [key, value] of this.#left) {
      extra.push([key, value]);
      if (quiet.includes(key)) continue;
      const reason = Object.hasOwn(unsupported, key) ? unsupported[key] : undefined;
      this.warn([key], reason ?? `is not a known field of a ${title} file; it is ignored`);
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
