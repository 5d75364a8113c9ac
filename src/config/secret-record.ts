/** Names with secret values: the names may be seen, the values only by who asks for them on purpose. */

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

  /** The values themselves, for the one place that has to send them. */
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
