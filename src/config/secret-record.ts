/** Wrappers that keep secrets out of logs: only `reveal()` returns the values. */

const inspect = Symbol.for("nodejs.util.inspect.custom");

/**
 * A map of headers or environment variables whose values never show up in logs, JSON or `util.inspect`.
 *
 * @example
 * ```ts
 * const headers = new SecretRecord({ Authorization: "Bearer abc" });
 * String(headers); // "[redacted: Authorization]"
 * headers.reveal(); // { Authorization: "Bearer abc" }
 * ```
 */
export class SecretRecord {
  readonly #values: Readonly<Record<string, string>>;

  constructor(values: Readonly<Record<string, string>> = {}) {
    this.#values = Object.freeze({ ...values });
    Object.freeze(this);
  }

  get names(): string[] {
    return Object.keys(this.#values);
  }

  /** The values, for the code that sends them. */
  reveal(): Readonly<Record<string, string>> {
    return this.#values;
  }

  toString(): string {
    return `[redacted: ${this.names.join(", ")}]`;
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this.names.map((name) => [name, "[redacted]"]));
  }

  [inspect](): string {
    return this.toString();
  }
}

/**
 * Holds a value that never shows up in logs, JSON or `util.inspect`.
 *
 * @example
 * ```ts
 * const secret = new SecretValue({ clientSecret: "abc" });
 * JSON.stringify(secret); // "\"[redacted]\""
 * secret.reveal(); // { clientSecret: "abc" }
 * ```
 */
export class SecretValue<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
    Object.freeze(this);
  }

  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }

  [inspect](): string {
    return "[redacted]";
  }
}
