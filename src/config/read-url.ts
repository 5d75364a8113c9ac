/** Reads the address of a server, in any of its spellings. */
import { canParseUrl } from "../util/can-parse-url.js";
import type { EntryReader } from "./entry-reader.js";

const SPELLINGS = ["url", "sseUrl", "base_url"] as const;

/** Appended to a bare `base_url` without `endpoint`: the default paths of langchain_mcp's servers. */
const DEFAULT_ENDPOINT = { http: "/mcp", sse: "/sse", websocket: "/mcp" } as const;

const SCHEMES = {
  http: ["http:", "https:"],
  sse: ["http:", "https:"],
  websocket: ["ws:", "wss:"],
} as const;

/** Kinds of servers that have an address. */
export type AddressedKind = keyof typeof SCHEMES;

function parse(reader: EntryReader, key: string, kind: AddressedKind): URL | undefined {
  const value = reader.raw(key);
  if (typeof value !== "string" && !(value instanceof URL)) return reader.report(key, "must be a URL");
  const [plain, secure] = SCHEMES[kind];
  const shape = `${secure}//host/path or ${plain}//host/path`;
  const text = String(value).trim();
  if (!canParseUrl(text)) return reader.report(key, `is not an absolute URL; write ${shape}`);
  const url = new URL(text);
  if (url.protocol !== plain && url.protocol !== secure) {
    return reader.report(key, `must start with ${secure}// or ${plain}//; write ${shape}`);
  }
  if (url.username !== "" || url.password !== "") {
    return reader.report(
      key,
      'must not contain a user name or password; use "headers"' +
        (kind === "websocket" ? "" : ' or "authProvider"') +
        " instead",
    );
  }
  url.hash = "";
  return url;
}

function join(reader: EntryReader, base: URL, kind: AddressedKind): URL | undefined {
  const given = reader.text("endpoint");
  if (reader.has("endpoint") && given === undefined) return undefined;
  // A base with a path and no endpoint is a complete address, as in mcporter's files.
  if (given === undefined && base.pathname !== "/") return base;
  const endpoint = given ?? DEFAULT_ENDPOINT[kind];
  if (canParseUrl(endpoint) || endpoint.startsWith("//")) {
    return reader.report("endpoint", "must be a path on the server of base_url, such as /mcp");
  }
  const mark = endpoint.search(/[?#]/);
  const path = mark < 0 ? endpoint : endpoint.slice(0, mark);
  const query = mark < 0 ? "" : endpoint.slice(mark).replace(/#.*$/s, "");
  const joined = new URL(base);
  joined.pathname = `${base.pathname.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
  if (query !== "") joined.search = query;
  return joined;
}

/** The normalised address, or undefined after it reported a problem. */
export function readUrl(reader: EntryReader, kind: AddressedKind): string | undefined {
  const given = SPELLINGS.filter((key) => reader.has(key));
  const [key, other] = given;
  if (key === undefined) return reader.report("url", "is missing; give the address of the MCP endpoint");
  if (other !== undefined)
    return reader.report(other, `has the same meaning as "${key}"; give only one of them`);
  if (key !== "base_url" && reader.has("endpoint")) {
    return reader.report("endpoint", 'belongs to "base_url"; write the whole address into "url"');
  }
  const url = parse(reader, key, kind);
  if (url === undefined) return undefined;
  return (key === "base_url" ? join(reader, url, kind) : url)?.href;
}
