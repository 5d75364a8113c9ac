/** Secrets: values that never show up in logs, the secrets of one server, and the redaction of its messages in errors and logs. */
import { canParseUrl, type NamedSecret, redactValues, ToolportError } from "@toolport/base";

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

  toJSON(): unknown {
    return "[redacted]";
  }

  [inspect](): string {
    return this.toString();
  }
}

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
export class SecretRecord extends SecretValue<Readonly<Record<string, string>>> {
  constructor(values: Readonly<Record<string, string>> = {}) {
    super(Object.freeze({ ...values }));
  }

  get names(): string[] {
    return Object.keys(this.reveal());
  }

  override toString(): string {
    return `[redacted: ${this.names.join(", ")}]`;
  }

  override toJSON(): Record<string, string> {
    return Object.fromEntries(this.names.map((name) => [name, "[redacted]"]));
  }
}

/** Header fields of the protocol, the network and tracing. They contain no secrets, and often arguments of the caller. */
const NO_SECRETS =
  /^(?:accept|accept-.*|connection|content-.*|host|last-event-id|mcp-method|mcp-name|mcp-param-.*|mcp-protocol-version|origin|traceparent|tracestate|baggage|transfer-encoding|user-agent)$/;
/** Values kept per header: a token may be renewed while older requests are pending. */
const MAX_NOTED = 8;
/** A path segment that looks like a random token. */
const PATH_TOKEN = /^(?=.*\d)(?=.*[a-z])[\w~.-]{20,}$/i;
/** Options of programs that are followed by a secret. */
const SECRET_OPTION = /^--?[\w-]*(?:key|token|secret|password|passwd|pass|auth|credential)s?$/i;
/** Ordinary words and paths, which Toolport's own messages may contain by chance. */
const ORDINARY = /^(?:[a-z]{1,15}|(?:[a-z]:)?[\\/].*|~.*)$/i;

export class KnownSecrets implements ErrorRedaction {
  readonly #fixed: readonly NamedSecret[];
  readonly #noted = new Map<string, string[]>();
  /** Names of header fields without secrets, as a cache. */
  readonly #plain = new Set<string>();
  #lastNoted: object | undefined;
  #redactors: ErrorRedaction | undefined;

  constructor(config: SecretSource) {
    this.#fixed = [...fixedSecrets(config)];
  }

  /** Remembers the header fields of a request: from a function, of one user, of one call, and tokens. */
  note(headers: Readonly<Record<string, string>>): void {
    // Requests that repeat each other have the same object.
    if (headers === this.#lastNoted) return;
    this.#lastNoted = headers;
    for (const name in headers) {
      if (this.#plain.has(name)) continue;
      const value = headers[name]!;
      const known = this.#noted.get(name);
      if (known?.[0] === value || known?.includes(value)) continue;
      if (NO_SECRETS.test(name.toLowerCase())) {
        this.#plain.add(name);
        continue;
      }
      this.#noted.set(name, [value, ...(known ?? [])].slice(0, MAX_NOTED));
      this.#redactors = undefined;
    }
  }

  /** Remembers an address that the server issued, such as that of a session. */
  noteAddress(url: URL): void {
    if (url.search === "") return;
    const known = this.#noted.get("address") ?? [];
    if (known.includes(url.href)) return;
    this.#noted.set("address", [url.href, ...known].slice(0, MAX_NOTED));
    this.#redactors = undefined;
  }

  /** Redacts Toolport's own messages; ordinary words stay. */
  readonly own = (text: string): string => this.#made().own(text);

  /** Redacts text from the server. */
  readonly foreign = (text: string): string => this.#made().foreign(text);

  /** Redacts a ToolportError in place and returns it. Other values, such as the reason of an abort, are returned unchanged. */
  readonly redactError = <Value>(error: Value): Value => {
    redactOwn(error, this.#made(), new Map());
    return error;
  };

  /** Data that the server sent, without secrets; the same object if there are none. */
  redactData(data: unknown): unknown {
    return redactValue(data, this.#made());
  }

  #made(): ErrorRedaction {
    this.#redactors ??= makeRedactors([...this.#fixed, ...this.#notedSecrets()]);
    return this.#redactors;
  }

  *#notedSecrets(): Iterable<NamedSecret> {
    for (const [name, values] of this.#noted)
      for (const value of values)
        yield* name === "address" ? addressSecrets(value) : headerSecrets(name, value);
  }
}

/** The parts of a `ServerConfig` that may contain secrets. */
interface SecretSource {
  readonly name: string;
  readonly env?: SecretRecord;
  readonly headers?: SecretRecord | (() => unknown);
  readonly url?: string;
  readonly proxy?: SecretValue<string | false> | undefined;
  readonly oauth?: SecretValue<unknown> | false;
  readonly args?: readonly string[];
  readonly runArgs?: readonly string[];
}

const known = new WeakMap<SecretSource, KnownSecrets>();

/** The secrets of a server: one object for each configuration. */
export function secretsOf(config: SecretSource): KnownSecrets {
  let secrets = known.get(config);
  if (secrets === undefined) {
    secrets = new KnownSecrets(config);
    known.set(config, secrets);
  }
  return secrets;
}

/** Shares the secrets with another configuration of the same server, such as one with another transport. */
export function shareSecrets<Config extends SecretSource>(from: SecretSource, to: Config): Config {
  known.set(to, secretsOf(from));
  return to;
}

function makeRedactors(secrets: readonly NamedSecret[]): ErrorRedaction {
  const telling = secrets.filter(([, value]) => !ORDINARY.test(value));
  return { foreign: redactValues(secrets), own: redactValues(telling) };
}

function* fixedSecrets({
  env,
  headers,
  url,
  proxy,
  oauth,
  args,
  runArgs,
}: SecretSource): Iterable<NamedSecret> {
  if (env !== undefined) yield* Object.entries(env.reveal());
  if (headers instanceof SecretRecord)
    for (const [name, value] of Object.entries(headers.reveal())) yield* headerSecrets(name, value);
  if (url !== undefined) yield* addressSecrets(url);
  if (proxy !== undefined) yield* proxySecrets(proxy.reveal());
  if (oauth) yield* textsIn("oauth", oauth.reveal());
  yield* argumentSecrets(args ?? []);
  yield* argumentSecrets(runArgs ?? []);
}

/** A server may also print parts of a header: the token after "Bearer", the password of Basic credentials, the values of cookies. */
function* headerSecrets(name: string, value: string): Iterable<NamedSecret> {
  yield [name, value];
  const [scheme = "", ...rest] = value.split(" ");
  const token = rest.join(" ");
  if (token !== "") yield [name, token];
  if (/^(?:proxy-)?authorization$/i.test(name) && /^basic$/i.test(scheme)) yield* basicSecrets(name, token);
  if (/^cookie$/i.test(name))
    for (const part of value.split(";")) yield [name, part.slice(part.indexOf("=") + 1).trim()];
}

function* basicSecrets(name: string, token: string): Iterable<NamedSecret> {
  let pair: string;
  try {
    pair = new TextDecoder().decode(Uint8Array.from(atob(token), (character) => character.charCodeAt(0)));
  } catch {
    // Not base64: there is nothing to decode.
    return;
  }
  yield [name, pair];
  yield [name, pair.slice(pair.indexOf(":") + 1)];
}

/** The query, each of its values as written and decoded, keys without a value, and path segments that look like tokens. */
function* addressSecrets(address: string): Iterable<NamedSecret> {
  const url = new URL(address);
  yield ["query", url.search.slice(1)];
  for (const part of url.search.slice(1).split("&")) {
    const mark = part.indexOf("=");
    yield ["query", part.slice(mark + 1)];
  }
  for (const [name, value] of url.searchParams) yield ["query", value === "" ? name : value];
  for (const part of url.pathname.split("/")) if (PATH_TOKEN.test(part)) yield ["path", part];
}

/** The credentials in a proxy's URL, as written and decoded. */
function* proxySecrets(proxy: string | false): Iterable<NamedSecret> {
  if (proxy === false || !canParseUrl(proxy)) return;
  const { username, password } = new URL(proxy);
  if (password === "") return;
  for (const part of [`${username}:${password}`, password]) yield ["proxy", part];
  try {
    yield ["proxy", decodeURIComponent(password)];
  } catch {
    // Not percent-encoded: it is sent as it is written.
  }
}

/** `--api-key abc`, `--token=abc`, `-e KEY=abc`. */
function* argumentSecrets(args: readonly string[]): Iterable<NamedSecret> {
  for (const [index, argument] of args.entries()) {
    const mark = argument.indexOf("=");
    const name = mark < 0 ? argument : argument.slice(0, mark);
    const next = args[index + 1];
    if (SECRET_OPTION.test(name) && mark >= 0) yield [name, argument.slice(mark + 1)];
    else if (SECRET_OPTION.test(name) && next !== undefined && !next.startsWith("-")) yield [name, next];
    const previous = args[index - 1] ?? "";
    const isVariable = /^(?:-e|--env)$/.test(previous) || name === "--env";
    if (!isVariable) continue;
    const pair = name === "--env" ? argument.slice(mark + 1) : argument;
    const at = pair.indexOf("=");
    if (at > 0) yield [pair.slice(0, at), pair.slice(at + 1)];
  }
}

/** Only fields with the name of a secret; ids and addresses should stay readable in errors. */
function* textsIn(name: string, value: unknown): Iterable<NamedSecret> {
  if (typeof value === "string") {
    if (/secret|key|token|assertion|^d$/i.test(name)) yield [name, value];
  } else if (typeof value === "object" && value !== null && !(value instanceof URL)) {
    for (const [key, inner] of Object.entries(value)) yield* textsIn(key, inner);
  }
}

interface ErrorRedaction {
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

type Seen = Map<object, unknown>;

/**
 * Redacts a `ToolportError` in place, so that it keeps its identity. Other errors among its causes are replaced by copies. Any
 * other value stays unchanged.
 */
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
    const value: unknown = Reflect.get(error, key);
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
function redactValue(
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
