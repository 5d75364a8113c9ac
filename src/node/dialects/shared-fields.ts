/** Translates the fields that most dialects share, in all their spellings. */
import { isRecord } from "../../util/is-record.js";
import { EntryFields } from "./entry-fields.js";

const ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl", "base_url"];
const ALLOWED = ["includeTools", "allowedTools", "allowed_tools", "enabledTools", "enabled_tools", "tools"];
const DENIED = ["excludeTools", "blockedTools", "blocked_tools", "disabledTools", "disabled_tools"];

/** Translates the fields that nearly all dialects share. */
export function usualFields(raw: Readonly<Record<string, unknown>>): EntryFields {
  const fields = new EntryFields(raw);
  moveType(fields);
  moveProcess(fields);
  moveAddress(fields);
  moveEnabled(fields);
  return fields;
}

/** Moves the fields of a process: `command`, `args`, `env`, `cwd`, `envFile`. */
export function moveProcess(fields: EntryFields): void {
  moveCommand(fields, "command");
  fields.move("args");
  fields.move("env");
  const env = fields.entry["env"];
  // Other programs convert numbers and booleans to strings.
  if (isRecord(env)) fields.entry["env"] = mapValues(env, toText);
  fields.move("cwd");
  const envFile = fields.has("envFile") ? fields.take("envFile") : fields.take("env_file");
  if (typeof envFile === "string") fields.setEnvFile(envFile);
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

/** Moves the URL, under any of its names, and the headers. */
export function moveAddress(fields: EntryFields, spellings: readonly string[] = ADDRESSES): void {
  for (const key of spellings) fields.move(key, "url");
  fields.move("headers");
  const headers = fields.entry["headers"];
  if (isRecord(headers)) fields.entry["headers"] = mapValues(headers, toText);
}

/** Moves `type` or `transport`. The validation of the entry accepts all spellings. */
export function moveType(fields: EntryFields): void {
  fields.move("type");
  fields.move("transport", "type");
}

/** Moves `disabled: true` and `enabled: false`. */
export function moveEnabled(fields: EntryFields): void {
  const disabled = fields.take("disabled");
  if (typeof disabled === "boolean") {
    if (disabled) fields.put("enabled", false, ["disabled"]);
  } else if (disabled !== undefined) fields.problem(["disabled"], "must be true or false");
  if (Object.hasOwn(fields.entry, "enabled")) fields.take("enabled");
  else fields.move("enabled");
}

/** Moves the filters of tools. */
export function moveToolFilters(fields: EntryFields): void {
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
export function moveTimeout(fields: EntryFields, key: string, unitMs: 1 | 1_000): void {
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

/** Without `base_url`, which Toolport's own entries use together with `endpoint`. */
const OWN_ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl"];

export function moveOwnFields(fields: EntryFields): void {
  for (const key of ["transport", "type", "only", "except"]) fields.move(key);
  moveProcess(fields);
  for (const key of OWN_ADDRESSES) fields.move(key, "url");
  moveEnabled(fields);
  moveToolFilters(fields);
}
