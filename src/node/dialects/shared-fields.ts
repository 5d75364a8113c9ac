/** The fields that nearly every dialect has, in all their spellings. */
import { isRecord } from "../../config/entry-reader.js";
import { EntryFields } from "./entry-fields.js";

const ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl", "base_url"];
const ALLOWED = ["includeTools", "allowedTools", "allowed_tools", "enabledTools", "enabled_tools", "tools"];
const DENIED = ["excludeTools", "blockedTools", "blocked_tools", "disabledTools", "disabled_tools"];

/** An entry of the usual kind, with what nearly all dialects write alike taken over. */
export function usualFields(raw: Readonly<Record<string, unknown>>): EntryFields {
  const fields = new EntryFields(raw);
  moveType(fields);
  moveProcess(fields);
  moveAddress(fields);
  moveEnabled(fields);
  return fields;
}

/** `command`, `args`, `env`, `cwd`, `envFile`: a process and what it gets. */
export function moveProcess(fields: EntryFields): void {
  moveCommand(fields, "command");
  fields.move("args");
  fields.move("env");
  const env = fields.entry["env"];
  // Other programs take numbers and flags as texts.
  if (isRecord(env)) fields.entry["env"] = mapValues(env, toText);
  fields.move("cwd");
  const envFile = fields.has("envFile") ? fields.take("envFile") : fields.take("env_file");
  if (typeof envFile === "string") fields.setEnvFile(envFile);
  else if (envFile !== undefined) fields.problem(["envFile"], "must be the path of a file");
}

/** A command as a text, or as a list whose first part is the program. */
export function moveCommand(fields: EntryFields, key: string): void {
  const command = fields.take(key);
  if (!Array.isArray(command)) return fields.put("command", command, [key]);
  const [program, ...rest] = command as unknown[];
  if (program === undefined) fields.problem([key], "must not be an empty list; give the program to start");
  fields.put("command", program, [key, 0]);
  const args = fields.take("args");
  const all = Array.isArray(args) ? [...rest, ...args] : rest;
  fields.put("args", all, [key]);
  for (const index of rest.keys()) fields.setOrigin(["args", index], [key, index + 1]);
  for (const index of all.keys()) {
    if (index >= rest.length) fields.setOrigin(["args", index], ["args", index - rest.length]);
  }
}

/** The address of a server, under any of its names, and the headers to send there. */
export function moveAddress(fields: EntryFields, spellings: readonly string[] = ADDRESSES): void {
  for (const key of spellings) fields.move(key, "url");
  fields.move("headers");
  const headers = fields.entry["headers"];
  if (isRecord(headers)) fields.entry["headers"] = mapValues(headers, toText);
}

/** `type` or `transport`; spellings are understood by the check of the entry. */
export function moveType(fields: EntryFields): void {
  fields.move("type");
  fields.move("transport", "type");
}

/** `disabled: true` and `enabled: false` mean the same. */
export function moveEnabled(fields: EntryFields): void {
  const disabled = fields.take("disabled");
  if (typeof disabled === "boolean") {
    if (disabled) fields.put("enabled", false, ["disabled"]);
  } else if (disabled !== undefined) fields.problem(["disabled"], "must be true or false");
  if (Object.hasOwn(fields.entry, "enabled")) fields.take("enabled");
  else fields.move("enabled");
}

/** Tools to offer and tools to leave out. */
export function moveToolFilters(fields: EntryFields): void {
  for (const key of ALLOWED) {
    const names = fields.has(key) ? fields.take(key) : undefined;
    // `["*"]` and nothing at all are two ways to say "all of them".
    const all = Array.isArray(names) && names.length === 1 && names[0] === "*";
    if (!all) fields.put("only", names, [key]);
  }
  for (const key of DENIED) {
    const names = fields.has(key) ? fields.take(key) : undefined;
    if (!Array.isArray(names) || names.length > 0) fields.put("except", names, [key]);
  }
}

/** A time limit in the unit of the file. */
export function moveTimeout(fields: EntryFields, key: string, unitMs: 1 | 1_000): void {
  const value = fields.take(key);
  if (value === undefined) return;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !(number > 0)) {
    return fields.warn([key], "is not a time limit greater than 0; the usual limit holds");
  }
  fields.put("timeoutMs", number * unitMs, [key]);
}

function toText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

/** A map with its values changed; nulls are left out, and no name reaches the prototype. */
function mapValues(record: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown): unknown {
  const entries = Object.entries(record).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value)]));
}

/** `base_url` is not among them: with `endpoint` it is a spelling of our own. */
const OWN_ADDRESSES = ["url", "httpUrl", "serverUrl", "server_url", "baseUrl"];

export function moveOwnFields(fields: EntryFields): void {
  for (const key of ["transport", "type", "only", "except"]) fields.move(key);
  moveProcess(fields);
  for (const key of OWN_ADDRESSES) fields.move(key, "url");
  moveEnabled(fields);
  moveToolFilters(fields);
}
