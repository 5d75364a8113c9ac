/** One secret value that shows itself only to who asks for it on purpose. */

const inspect = Symbol.for("nodejs.util.inspect.custom");

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
