/** Types and validation of registry responses: servers with metadata, and pages of servers. */
import type { ToolportError } from "../errors/toolport-error.js";
import { type Fields, isRecord } from "../util/json.js";
import { fieldOf, flagOf, InvalidValue, textOf } from "./fields.js";
import { readServerJson, type ServerJson } from "./server-json.js";

/** Metadata of the official registry about a version. */
export interface OfficialMeta {
  readonly status?: "active" | "deprecated" | "deleted" | undefined;
  readonly statusMessage?: string | undefined;
  readonly statusChangedAt?: string | undefined;
  readonly publishedAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly isLatest?: boolean | undefined;
}

/** Information about a cached response that was used because the registry was unavailable. */
export interface StaleAnswer {
  /** Time since the registry last confirmed the response. */
  readonly ageMs: number;
  /** Why the registry was unavailable. */
  readonly error: ToolportError;
}

/** One version of a server in a registry. */
export interface RegistryServer {
  readonly server: ServerJson;
  /** The registry's own metadata; undefined if there is none. */
  readonly official: OfficialMeta | undefined;
  /** All metadata of the registry, by reverse-DNS names. */
  readonly _meta: Readonly<Record<string, unknown>>;
  /** Problems of dropped parts, one line each. */
  readonly problems: readonly string[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

/** An invalid entry of a list. */
export interface SkippedServer {
  /** Its index on the page. */
  readonly index: number;
  /** Its name, if it has one. */
  readonly name?: string | undefined;
  readonly reason: string;
}

/** One page of a list. */
export interface RegistryPage {
  readonly servers: readonly RegistryServer[];
  /** Pass it to `listServers` as `cursor` for the next page; undefined on the last page. */
  readonly nextCursor: string | undefined;
  /** Number of entries on this page according to the registry. */
  readonly count: number | undefined;
  /** Invalid entries, which were left out. */
  readonly skipped: readonly SkippedServer[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

const OFFICIAL = "io.modelcontextprotocol.registry/official";
const STATUSES: readonly unknown[] = ["active", "deprecated", "deleted"];

/** Far more than any registry puts on one page. */
const MAX_ENTRIES = 10_000;

function readOfficial(meta: Fields): OfficialMeta | undefined {
  const fields = fieldOf(meta, OFFICIAL);
  if (!isRecord(fields)) return undefined;
  const status = fieldOf(fields, "status");
  return {
    status: STATUSES.includes(status) ? (status as OfficialMeta["status"]) : undefined,
    statusMessage: textOf(fields, "statusMessage"),
    statusChangedAt: textOf(fields, "statusChangedAt"),
    publishedAt: textOf(fields, "publishedAt"),
    updatedAt: textOf(fields, "updatedAt"),
    isLatest: flagOf(fields, "isLatest"),
  };
}

/** Reads a response of the form `{ server, _meta? }`. */
export function readRegistryServer(value: unknown): RegistryServer | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("it is not an object");
  const problems: string[] = [];
  const server = readServerJson(fieldOf(value, "server"), problems);
  if (server instanceof InvalidValue) return server;
  const found = fieldOf(value, "_meta");
  const meta = isRecord(found) ? found : {};
  return { server, official: readOfficial(meta), _meta: meta, problems };
}

const nameOf = (value: unknown): string | undefined => {
  const server = isRecord(value) ? fieldOf(value, "server") : undefined;
  return isRecord(server) ? textOf(server, "name")?.slice(0, 200) : undefined;
};

/** Reads a response of the form `{ servers, metadata? }`. Skips invalid entries. */
export function readRegistryPage(value: unknown): RegistryPage | InvalidValue {
  const list = isRecord(value) ? fieldOf(value, "servers") : undefined;
  if (!isRecord(value) || !Array.isArray(list)) return new InvalidValue("it has no list of servers");
  if (list.length > MAX_ENTRIES) return new InvalidValue(`it lists more than ${MAX_ENTRIES} servers at once`);
  const servers: RegistryServer[] = [];
  const skipped: SkippedServer[] = [];
  for (const [index, item] of list.entries()) {
    const server = readRegistryServer(item);
    if (server instanceof InvalidValue) skipped.push({ index, name: nameOf(item), reason: server.problem });
    else servers.push(server);
  }
  const metadata = fieldOf(value, "metadata");
  const fields = isRecord(metadata) ? metadata : {};
  const cursor = fieldOf(fields, "nextCursor") ?? "";
  // Treating it as the last page would silently truncate the list.
  if (typeof cursor !== "string") return new InvalidValue("its cursor is not a string");
  const count = fieldOf(fields, "count");
  return {
    servers,
    nextCursor: cursor === "" ? undefined : cursor,
    count: typeof count === "number" ? count : undefined,
    skipped,
  };
}
