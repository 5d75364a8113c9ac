/** Finds the kind of a server by `transport` or `type`, or by the fields of its entry. */
import { suggest } from "../util/suggest.js";
import type { EntryReader } from "./entry-reader.js";
import type { TransportKind } from "./server-config.js";

/** The spellings of `transport` and `type` in known configuration files. */
const KIND_OF: Readonly<Record<string, TransportKind>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
  auto: "http",
  remote: "http",
  sse: "sse",
  ws: "websocket",
  websocket: "websocket",
  docker: "docker",
};

function readSpelling(reader: EntryReader, key: "transport" | "type"): TransportKind | undefined {
  const value = reader.raw(key);
  if (key === "transport" && typeof value === "function") return "custom";
  if (typeof value !== "string") {
    const made = key === "transport" ? ", or a function that makes a Transport" : "";
    return reader.report(key, `must be one of ${quoted(Object.keys(KIND_OF))}${made}`);
  }
  if (Object.hasOwn(KIND_OF, value)) return KIND_OF[value];
  const [close] = suggest(value, Object.keys(KIND_OF), 1);
  const hint = close === undefined ? "" : `; did you mean "${close}"?`;
  return reader.report(key, `must be one of ${quoted(Object.keys(KIND_OF))}${hint}`);
}

const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(", ");

function infer(reader: EntryReader): TransportKind | undefined {
  if (reader.has("image")) return "docker";
  if (reader.has("command")) return "stdio";
  const url = reader.raw("url") ?? reader.raw("base_url");
  const text = url instanceof URL ? url.href : url;
  if (url !== undefined) return typeof text === "string" && /^\s*wss?:/i.test(text) ? "websocket" : "http";
  return reader.has("sseUrl") ? "sse" : undefined;
}

function misspelled(reader: EntryReader): string {
  for (const key of reader.keys) {
    const [close] = suggest(key, ["command", "url", "image"], 1);
    if (close !== undefined) return `; did you mean "${close}" where it says "${key}"?`;
  }
  return "";
}

/** The kind of a server, or undefined after it reported a problem. */
export function readServerKind(reader: EntryReader): TransportKind | undefined {
  const spelled = (["transport", "type"] as const).filter((key) => reader.has(key));
  const kinds = spelled.map((key) => readSpelling(reader, key));
  if (kinds.includes(undefined)) return undefined;
  const [kind, other] = kinds;
  if (other !== undefined && other !== kind) {
    return reader.report("type", 'contradicts "transport"; give only one of them');
  }
  if (kind !== undefined) return kind;
  const needs = '"command" (a local process), "url" (a remote server) or "image" (a container)';
  const inferred = infer(reader);
  if (inferred !== undefined) return inferred;
  const slip = misspelled(reader);
  return reader.report([], `does not say how to reach the server; it needs ${needs}${slip}`);
}
