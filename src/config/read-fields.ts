/** Readers for the fields that several kinds of servers share. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import { LOG_LEVELS } from "../model/log-levels.js";
import { CONNECTION_TAP, type ConnectionTap } from "./connection-tap.js";
import { type EntryReader, isRecord } from "./entry-reader.js";
import { readPolicy } from "./read-policy.js";
import { SecretRecord } from "./secret-record.js";
import { SecretValue } from "./secret-value.js";
import type { HeaderSource, ReconnectConfig, ServerConfig } from "./server-config.js";
import type { HeadersOption, ProtocolChoice } from "./server-entry.js";

type CommonFields = Pick<
  ServerConfig,
  | "name"
  | "timeoutMs"
  | "protocol"
  | "clientOptions"
  | "enabled"
  | "logLevel"
  | "logEvents"
  | "logRequests"
  | "logResponses"
  | "reconnect"
  | "tap"
  | keyof ReturnType<typeof readPolicy>
>;

function readReconnect(reader: EntryReader, key: "restart" | "reconnect"): ReconnectConfig {
  const inner = reader.inner(key);
  inner?.rejectUnknown(["enabled", "maxAttempts", "delayMs"]);
  return Object.freeze({
    enabled: inner?.flag("enabled", true) ?? true,
    maxAttempts: inner?.number("maxAttempts", { min: 0, integer: true }),
    delayMs: inner?.number("delayMs", { min: 0 }),
  });
}

/** Revisions of MCP are dates; a date that no calendar has is a slip. */
function isRevision(text: unknown): text is string {
  return typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function readProtocol(reader: EntryReader): ProtocolChoice {
  const value = reader.raw("protocol");
  if (value === undefined) return "auto";
  if (value === "auto" || value === "legacy") return value;
  if (!isRecord(value)) {
    reader.report("protocol", 'must be "auto", "legacy" or { "pin": "YYYY-MM-DD" }');
    return "auto";
  }
  const inner = reader.inner("protocol");
  inner?.rejectUnknown(["pin"]);
  const pin = inner?.raw("pin");
  if (isRevision(pin)) return Object.freeze({ pin });
  reader.report(["protocol", "pin"], "must be a protocol revision in the form YYYY-MM-DD");
  return "auto";
}

function readClientOptions(reader: EntryReader): SecretValue<ClientOptions> | undefined {
  const given = reader.raw("clientOptions");
  if (given === undefined) return undefined;
  if (isRecord(given)) return new SecretValue<ClientOptions>({ ...given });
  return reader.report("clientOptions", "must be an object with options of the SDK's client");
}

/** The fields every configuration has. */
export function readCommon(
  name: string,
  reader: EntryReader,
  healing: "restart" | "reconnect",
): CommonFields {
  return {
    name,
    timeoutMs: reader.number("timeoutMs", { min: 0, above: true, infinite: true }),
    protocol: readProtocol(reader),
    clientOptions: readClientOptions(reader),
    enabled: reader.flag("enabled", true),
    logLevel: reader.choice("logLevel", LOG_LEVELS),
    logEvents: reader.flag("logEvents", false),
    logRequests: reader.flag("logRequests", false),
    logResponses: reader.flag("logResponses", false),
    reconnect: readReconnect(reader, healing),
    tap: reader.raw(CONNECTION_TAP) as ConnectionTap | undefined,
    ...readPolicy(reader),
  };
}

/** Environment variables for a process. */
export function readProcessEnv(reader: EntryReader): SecretRecord {
  const values = reader.textMap("env", (name, value) => {
    if (name === "" || /[=\0]/.test(name)) return 'the name of a variable must not be empty or contain "="';
    return value.includes("\0") ? "its value must not contain a NUL character" : undefined;
  });
  return new SecretRecord(values);
}

function headerProblem(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return "is not a valid name of an HTTP header";
  return /[\r\n\0]/.test(value) ? "its value must not contain line breaks or NUL characters" : undefined;
}

/** Headers of every request: fixed values, or a function that is asked each time. */
export function readHeaders(reader: EntryReader): HeaderSource {
  const given = reader.raw("headers");
  if (typeof given === "function") {
    const ask = given as Extract<HeadersOption, () => unknown>;
    return async () => ask();
  }
  const spelled = new Map<string, string>();
  const values = reader.textMap("headers", (name, value) => {
    const twin = spelled.get(name.toLowerCase());
    spelled.set(name.toLowerCase(), name);
    // Both would be sent, joined by a comma; no server means that.
    return twin === undefined ? headerProblem(name, value) : `is given twice (also as "${twin}")`;
  });
  return new SecretRecord(values);
}
