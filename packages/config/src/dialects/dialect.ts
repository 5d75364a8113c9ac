/** A dialect: the configuration format of one program, and its translation to Toolport's entries. */
import { type ConfigPath, canParseUrl, isRecord } from "@toolport/base";

/** The programs whose files are supported. `"generic"` is any other file with `mcpServers`. */
export type DialectKind =
  | "toolport"
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "copilot-cli"
  | "windsurf"
  | "zed"
  | "codex"
  | "gemini-cli"
  | "opencode"
  | "cline"
  | "mcporter"
  | "inspector"
  | "langchain"
  | "generic";

/** An object of a file. */
export type RawFields = Readonly<Record<string, unknown>>;

/** A message about a field, with its path in the entry of the file. */
export interface FieldNote {
  readonly path: ConfigPath;
  readonly message: string;
}

/** A translated entry with unexpanded variables. */
export type DialectEntry = Pick<
  EntryFields,
  "entry" | "extra" | "warnings" | "problems" | "originOf" | "passedVariables" | "envFile"
>;

export interface Dialect {
  readonly kind: DialectKind;
  /** Name of the program in messages. */
  readonly title: string;
  /** Paths of the servers in its files, the usual one first. @default `mcpServers` only */
  readonly containers?: readonly ConfigPath[];
  /** Fields of an entry that identify the dialect of a file with an unknown name. */
  readonly entryMarkers?: readonly string[];
  /** Top-level fields that identify the dialect. */
  readonly rootMarkers?: readonly string[];
  /** The file also contains other settings, so it may have no servers. */
  readonly isSettingsFile?: boolean;
  /** `$NAME` without braces is a variable. */
  readonly bareVariables?: boolean;
  /** Fields of an entry without effect, which need no warning. */
  readonly quiet?: readonly string[];
  /** Messages for unsupported fields. */
  readonly unsupported?: Readonly<Record<string, string>>;
  /** The names of the field with the URL. @default all that programs use */
  readonly addresses?: readonly string[];
  /** Its entries have filters of tools. */
  readonly hasFilters?: boolean;
  /** The field with the timeout of a call, and its unit in milliseconds. */
  readonly timeout?: readonly [key: string, unitMs: 1 | 1_000];
  /** The field with the options of a login. */
  readonly oauth?: string;
  /** Translates special fields before the usual ones. Pure: reads no files or variables. */
  readonly before?: (fields: EntryFields, raw: RawFields) => void;
  /** Translates special fields after the usual ones. */
  readonly after?: (fields: EntryFields, raw: RawFields) => void;
  /** Its entries are Toolport's own, with a few more spellings. */
  readonly isOwn?: boolean;
  /** The setting of the file that disables a server, if any. */
  readonly disabledBy?: (root: RawFields, name: string) => string | undefined;
  /** Warnings about top-level fields that are not servers. */
  readonly readRoot?: (root: RawFields) => readonly FieldNote[];
}

const ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl", "base_url"];
/** Without `base_url`, which Toolport's own entries use together with `endpoint`. */
const OWN_ADDRESSES = ADDRESSES.slice(0, -1);
const ALLOWED = ["includeTools", "allowedTools", "allowed_tools", "enabledTools", "enabled_tools", "tools"];
const DENIED = ["excludeTools", "blockedTools", "blocked_tools", "disabledTools", "disabled_tools"];

/** Translates an entry. The fields that the dialect does not move go to `extra`. */
export function readEntry(dialect: Dialect, raw: RawFields): DialectEntry {
  const fields = new EntryFields(raw);
  const { before, after, isOwn = false, hasFilters = isOwn, timeout, oauth } = dialect;
  const { addresses = isOwn ? OWN_ADDRESSES : ADDRESSES } = dialect;
  before?.(fields, raw);
  if (isOwn) for (const key of ["transport", "type", "only", "except"]) fields.move(key);
  fields.move("type");
  fields.move("transport", "type");
  moveProcess(fields);
  for (const key of addresses) fields.move(key, "url");
  if (!isOwn) moveHeaders(fields);
  moveEnabled(fields);
  if (hasFilters) moveToolFilters(fields);
  if (timeout !== undefined) moveTimeout(fields, ...timeout);
  if (oauth !== undefined) moveOAuth(fields, oauth);
  after?.(fields, raw);
  fields.warnOfOthers(dialect);
  return fields;
}

/** Moves the fields of a process: `command`, `args`, `env`, `cwd`, `envFile`. */
function moveProcess(fields: EntryFields): void {
  moveCommand(fields, "command");
  fields.move("args");
  fields.move("env");
  const env = fields.entry["env"];
  // Other programs convert numbers and booleans to strings.
  if (isRecord(env)) fields.entry["env"] = mapValues(env, toText);
  fields.move("cwd");
  const envFile = fields.has("envFile") ? fields.take("envFile") : fields.take("env_file");
  if (typeof envFile === "string") fields.envFile = envFile;
  else if (envFile !== undefined) fields.problem(["envFile"], "must be the path of a file");
}

/** Moves a command: a string, or an array that starts with the program. */
export function moveCommand(fields: EntryFields, key: string): void {
  const command = fields.take(key);
  if (!Array.isArray(command)) return fields.put("command", command, [key]);
  const [program, ...rest] = command as unknown[];
  if (program === undefined) fields.problem([key], "must not be empty; it starts with the program to run");
  fields.put("command", program, [key, 0]);
  const args = fields.take("args");
  const all = Array.isArray(args) ? [...rest, ...args] : rest;
  fields.put("args", all, [key]);
  for (const index of rest.keys()) fields.setOrigin(["args", index], [key, index + 1]);
  for (const index of all.keys()) {
    if (index >= rest.length) fields.setOrigin(["args", index], ["args", index - rest.length]);
  }
}

/** Other programs convert numbers and booleans to strings. */
function moveHeaders(fields: EntryFields): void {
  fields.move("headers");
  const headers = fields.entry["headers"];
  if (isRecord(headers)) fields.entry["headers"] = mapValues(headers, toText);
}

/** Moves `disabled: true` and `enabled: false`. */
function moveEnabled(fields: EntryFields): void {
  const disabled = fields.take("disabled");
  if (typeof disabled === "boolean") {
    if (disabled) fields.put("enabled", false, ["disabled"]);
  } else if (disabled !== undefined) fields.problem(["disabled"], "must be true or false");
  if (Object.hasOwn(fields.entry, "enabled")) fields.take("enabled");
  else fields.move("enabled");
}

/** Moves the filters of tools. */
function moveToolFilters(fields: EntryFields): void {
  for (const key of ALLOWED) {
    const names = fields.has(key) ? fields.take(key) : undefined;
    // `["*"]` means all tools, like a missing field.
    const all = Array.isArray(names) && names.length === 1 && names[0] === "*";
    if (!all) fields.put("only", names, [key]);
  }
  for (const key of DENIED) {
    const names = fields.has(key) ? fields.take(key) : undefined;
    if (!Array.isArray(names) || names.length > 0) fields.put("except", names, [key]);
  }
}

/** Moves a timeout and converts its unit. */
function moveTimeout(fields: EntryFields, key: string, unitMs: 1 | 1_000): void {
  const value = fields.take(key);
  if (value === undefined) return;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !(number > 0)) {
    return fields.warn([key], "is not a timeout above 0; the default applies");
  }
  fields.put("timeoutMs", number * unitMs, [key]);
}

function toText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

/** Maps the values of a record and drops nulls. `__proto__` stays an ordinary key. */
function mapValues(record: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown): unknown {
  const entries = Object.entries(record).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value)]));
}

export class EntryFields {
  /** An unvalidated `ServerEntry`. */
  readonly entry: Record<string, unknown> = {};
  /** Differences from the behaviour of the other program. */
  readonly warnings: FieldNote[] = [];
  /** Reasons why the server cannot be used. */
  readonly problems: FieldNote[] = [];
  /** Environment variables to pass to the process if they are set. */
  readonly passedVariables: string[] = [];
  /** A file with more variables for the process. `entry.env` takes precedence. */
  envFile: string | undefined;
  readonly #left: Map<string, unknown>;
  readonly #origins = new Map<string, ConfigPath>();

  constructor(raw: RawFields) {
    // Some programs write null for a missing value.
    this.#left = new Map(Object.entries(raw).filter(([, value]) => value !== null && value !== undefined));
  }

  /** Fields that Toolport does not use. */
  get extra(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#left);
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

  warn(path: ConfigPath, message: string): void {
    this.warnings.push({ path, message });
  }

  problem(path: ConfigPath, message: string): void {
    this.problems.push({ path, message });
  }

  /** Maps a path in `entry` to the path in the file. */
  originOf(path: ConfigPath): ConfigPath {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#origins.get(JSON.stringify(path.slice(0, length)));
      if (origin !== undefined) return [...origin, ...path.slice(length)];
    }
    return path;
  }

  /** The remaining fields are `extra`. */
  warnOfOthers({ title, quiet = [], unsupported = {} }: Dialect): void {
    for (const key of this.names) {
      if (quiet.includes(key)) continue;
      const reason = Object.hasOwn(unsupported, key) ? unsupported[key] : undefined;
      this.warn([key], reason ?? `is not a known field of a ${title} file; it is ignored`);
    }
  }
}

/** Spellings of each field, by Toolport's name. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  clientId: ["clientId", "client_id", "CLIENT_ID"],
  clientSecret: ["clientSecret", "client_secret", "CLIENT_SECRET"],
  scopes: ["scopes", "scope"],
  redirectUrl: ["redirectUrl", "redirectUri", "redirect_uri"],
  clientName: ["clientName", "client_name"],
  issuer: ["issuer"],
};

const KNOWN = new Set([
  ...Object.values(SPELLINGS).flat(),
  ...["enabled", "callbackPort", "authServerMetadataUrl"],
]);

/** Moves the object at `key` to `oauth`, for entries with a URL only. */
function moveOAuth(fields: EntryFields, key: string): void {
  if (!fields.has(key) || fields.entry["url"] === undefined) return;
  const given = fields.take(key);
  if (typeof given === "boolean") return fields.put("oauth", given, [key]);
  if (!isRecord(given)) return fields.problem([key], "must be an object");
  if (given["enabled"] === false) return fields.put("oauth", false, [key]);
  const oauth: Record<string, unknown> = {};
  for (const [name, spellings] of Object.entries(SPELLINGS)) {
    const found = spellings.find((spelling) => isGiven(given, spelling));
    if (found !== undefined) oauth[name] = given[found];
  }
  const port = given["callbackPort"];
  if (typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535)
    oauth["redirectUrl"] ??= `http://localhost:${port}/callback`;
  else if (isGiven(given, "callbackPort"))
    fields.problem([key, "callbackPort"], "must be a port between 1 and 65535");
  const metadata = given["authServerMetadataUrl"];
  const issuer = typeof metadata === "string" ? issuerOf(metadata) : undefined;
  if (issuer !== undefined) oauth["issuer"] ??= issuer;
  else if (isGiven(given, "authServerMetadataUrl")) {
    const message = "does not identify an issuer; the metadata is discovered automatically";
    fields.warn([key, "authServerMetadataUrl"], message);
  }
  for (const name of Object.keys(given)) {
    if (isGiven(given, name) && !KNOWN.has(name)) {
      fields.warn([key, name], "is not used; the server provides its authorization metadata");
    }
  }
  fields.put("oauth", oauth, [key]);
}

const isGiven = (given: Readonly<Record<string, unknown>>, name: string): boolean =>
  Object.hasOwn(given, name) && given[name] !== null && given[name] !== undefined;

const WELL_KNOWN = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;

/** The issuer that a metadata URL belongs to. Toolport then discovers the metadata of the issuer. */
function issuerOf(metadataUrl: string): string | undefined {
  if (!canParseUrl(metadataUrl)) return undefined;
  const { origin, pathname } = new URL(metadataUrl);
  if (!WELL_KNOWN.test(pathname)) return undefined;
  return `${origin}${pathname.replace(WELL_KNOWN, "").replace(/\/+$/, "")}`;
}
