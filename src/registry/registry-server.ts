/** What a registry answers: servers with what the registry itself knows of them, and pages of such. */
import type { ToolportError } from "../errors/toolport-error.js";
import { type Fields, fieldOf, flagOf, InvalidValue, isFields, textOf } from "./fields.js";
import { readServerJson } from "./read-server-json.js";
import type { ServerJson } from "./server-json.js";

/** What the official registry records about a version. */
export interface OfficialMeta {
  readonly status?: "active" | "deprecated" | "deleted" | undefined;
  readonly statusMessage?: string | undefined;
  readonly statusChangedAt?: string | undefined;
  readonly publishedAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly isLatest?: boolean | undefined;
}

/** An answer from the cache, given because the registry could not be asked. */
export interface StaleAnswer {
  /** How long ago the registry last confirmed it. */
  readonly ageMs: number;
  /** Why there is no newer one. */
  readonly error: ToolportError;
}

/** One version of one server, as a registry lists it. */
export interface RegistryServer {
  readonly server: ServerJson;
  /** The registry's own record; undefined where it keeps none. */
  readonly official: OfficialMeta | undefined;
  /** Everything the registry adds, by reverse-DNS names. */
  readonly _meta: Readonly<Record<string, unknown>>;
  /** Parts of the entry that could not be used, one line each. */
  readonly problems: readonly string[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

/** An entry of a list that could not be used at all. */
export interface SkippedServer {
  /** Its place on the page, from 0. */
  readonly index: number;
  /** Its name, if it has one. */
  readonly name?: string | undefined;
  readonly reason: string;
}

/** One page of a list. */
export interface RegistryPage {
  readonly servers: readonly RegistryServer[];
  /** Hand it to `listServers` as `cursor` for the next page; undefined on the last one. */
  readonly nextCursor: string | undefined;
  /** Entries on this page by the registry's own count. */
  readonly count: number | undefined;
  /** Entries that were left out, and why. */
  readonly skipped: readonly SkippedServer[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

const OFFICIAL = "io.modelcontextprotocol.registry/official";
const STATUSES: readonly unknown[] = ["active", "deprecated", "deleted"];

/** Far more than any registry puts on a page, or publishes versions of one server. */
const MAX_ENTRIES = 10_000;

function readOfficial(meta: Fields): OfficialMeta | undefined {
  const fields = fieldOf(meta, OFFICIAL);
  if (!isFields(fields)) return undefined;
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

/** One answer of the form `{ server, _meta? }`. */
export function readRegistryServer(value: unknown): RegistryServer | InvalidValue {
  if (!isFields(value)) return new InvalidValue("it is not an object");
  const problems: string[] = [];
  const server = readServerJson(fieldOf(value, "server"), problems);
  if (server instanceof InvalidValue) return server;
  const found = fieldOf(value, "_meta");
  const meta = isFields(found) ? found : {};
  return { server, official: readOfficial(meta), _meta: meta, problems };
}

const nameOf = (value: unknown): string | undefined => {
  const server = isFields(value) ? fieldOf(value, "server") : undefined;
  return isFields(server) ? textOf(server, "name")?.slice(0, 200) : undefined;
};

/** One answer of the form `{ servers, metadata? }`. A bad entry costs only itself. */
export function readRegistryPage(value: unknown): RegistryPage | InvalidValue {
  const list = isFields(value) ? fieldOf(value, "servers") : undefined;
  if (!isFields(value) || !Array.isArray(list)) return new InvalidValue("it has no list of servers");
  if (list.length > MAX_ENTRIES) return new InvalidValue(`it lists more than ${MAX_ENTRIES} servers at once`);
  const servers: RegistryServer[] = [];
  const skipped: SkippedServer[] = [];
  for (const [index, item] of list.entries()) {
    const server = readRegistryServer(item);
    if (server instanceof InvalidValue) skipped.push({ index, name: nameOf(item), reason: server.problem });
    else servers.push(server);
  }
  const metadata = fieldOf(value, "metadata");
  const fields = isFields(metadata) ? metadata : {};
  const cursor = fieldOf(fields, "nextCursor") ?? "";
  // Taken for "no more", it would cut the list without a word.
  if (typeof cursor !== "string") return new InvalidValue("its cursor is not a text");
  const count = fieldOf(fields, "count");
  return {
    servers,
    nextCursor: cursor === "" ? undefined : cursor,
    count: typeof count === "number" ? count : undefined,
    skipped,
  };
}
