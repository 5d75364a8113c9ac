/** A local MCP registry with the read routes of the OpenAPI file, the fixtures as data, and failures on demand. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach } from "vitest";
import { McpRegistryClient } from "../../packages/registry/src/mcp-registry-client.js";
import type {
  McpRegistryClientOptions,
  RegistryWarning,
} from "../../packages/registry/src/registry-options.js";
import { type Script, type SeenRequest, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { createServerSlot } from "./use-server.js";

const fixtures = fileURLToPath(new URL("../fixtures/registry/", import.meta.url));
const readJson = (path: string) => JSON.parse(readFileSync(join(fixtures, path), "utf8"));

/** The content of a `server.json` in the fixtures. */
export interface FixtureServer {
  readonly name: string;
  readonly version: string;
  readonly [key: string]: unknown;
}

/** The 14 examples of the registry's documentation, by file name. */
export const exampleServers: ReadonlyMap<string, FixtureServer> = new Map(
  readdirSync(join(fixtures, "server-json-examples"))
    .sort()
    .map((file) => [file, readJson(`server-json-examples/${file}`)]),
);

/** The initial entries of the registry's development server. */
export const seedServers: readonly FixtureServer[] = readJson("seed.json");

/** The routes and schemas of the registry. */
export const openApi = readJson("openapi.json") as {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};

/** One record of the registry. */
export interface RegistryRecord {
  readonly server: FixtureServer;
  readonly status?: "active" | "deprecated" | "deleted";
  readonly statusMessage?: string;
  readonly updatedAt?: string;
}

export interface RegistryServerOptions {
  /** @default the seed and the examples */
  readonly records?: readonly RegistryRecord[];
  /** Format of errors. @default "problem" (problem+json) */
  readonly errors?: "problem" | "plain";
  /** Headers of every successful response. @default only `ETag` */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RegistryTestServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Changes the listed entries. */
  setRecords(records: readonly RegistryRecord[]): void;
  /** Uses this script for the next requests; with `Infinity` until it is replaced. */
  intercept(script: Script, times?: number): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DAY = "2026-01-01T00:00:00Z";
const OFFICIAL = "io.modelcontextprotocol.registry/official";

const allRecords = (): RegistryRecord[] =>
  [...seedServers, ...exampleServers.values()].map((server) => ({ server }));

const keyOf = ({ server }: RegistryRecord): string => `${server.name}:${server.version}`;

/** Compared by code units, like the cursor. */
const byKey = (one: RegistryRecord, other: RegistryRecord): number => (keyOf(one) < keyOf(other) ? -1 : 1);

export async function startRegistryServer(options: RegistryServerOptions = {}): Promise<RegistryTestServer> {
  let records = options.records ?? allRecords();
  let interceptor: { script: Script; times: number } | undefined;
  const server = await startScriptedServer((request, response) => {
    if (interceptor !== undefined && interceptor.times > 0) {
      interceptor.times -= 1;
      return interceptor.script(request, response);
    }
    const answer = route(new URL(request.path, "http://registry"), records);
    if ("problem" in answer) return sendProblem(response, answer, options.errors ?? "problem");
    const body = JSON.stringify(answer.body);
    const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`;
    const isKnown = request.headers["if-none-match"] === etag;
    response.writeHead(isKnown ? 304 : 200, { etag, "content-type": "application/json", ...options.headers });
    response.end(isKnown ? undefined : body);
  });
  const close = () => server.close();
  return {
    url: server.url,
    seen: server.seen,
    setRecords: (changed) => {
      records = changed;
    },
    intercept: (script, times = 1) => {
      interceptor = { script, times };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Answer = { readonly body: unknown } | { readonly problem: string; readonly status: number };

function route(url: URL, records: readonly RegistryRecord[]): Answer {
  const [api, ...parts] = url.pathname.split("/").slice(1).map(decodeURIComponent);
  if (api !== "v0.1" && api !== "v0") return { problem: "Not found", status: 404 };
  const [first, name, second, version, ...more] = parts;
  if (parts.length === 1 && first === "health") return { body: { status: "ok" } };
  if (parts.length === 1 && first === "ping") return { body: { pong: true } };
  if (parts.length === 1 && first === "version") return { body: { version: "1.2.3", git_commit: "abc" } };
  if (first !== "servers" || more.length > 0) return { problem: "Not found", status: 404 };
  if (name === undefined) return list(url.searchParams, records);
  if (second !== "versions") return { problem: "Not found", status: 404 };
  const withDeleted = url.searchParams.get("include_deleted") === "true";
  const found = records
    .filter((record) => record.server.name === name && (withDeleted || record.status !== "deleted"))
    .sort(byKey)
    .reverse();
  if (version === undefined) return versions(found, records);
  const wanted = version === "latest" ? found[0] : found.find(({ server }) => server.version === version);
  return wanted === undefined
    ? { problem: "Server not found", status: 404 }
    : { body: toResponse(wanted, records) };
}

function versions(found: readonly RegistryRecord[], records: readonly RegistryRecord[]): Answer {
  if (found.length === 0) return { problem: "Server not found", status: 404 };
  const servers = found.map((record) => toResponse(record, records));
  return { body: { servers, metadata: { count: servers.length } } };
}

function list(query: URLSearchParams, records: readonly RegistryRecord[]): Answer {
  const limit = Number(query.get("limit") ?? 30);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    return { problem: "expected number between 1 and 100", status: 422 };
  }
  const since = query.get("updated_since");
  if (since !== null && Number.isNaN(Date.parse(since))) {
    return { problem: "Invalid updated_since format: expected RFC3339", status: 400 };
  }
  const deleted = query.get("include_deleted");
  if (since !== null && deleted === "false") {
    return { problem: "include_deleted cannot be false with updated_since", status: 400 };
  }
  const search = (query.get("search") ?? "").toLowerCase();
  const version = query.get("version");
  const cursor = query.get("cursor") ?? "";
  const matching = [...records].sort(byKey).filter((record) => {
    if (record.status === "deleted" && since === null && deleted !== "true") return false;
    if (since !== null && Date.parse(record.updatedAt ?? DAY) < Date.parse(since)) return false;
    if (!record.server.name.toLowerCase().includes(search) || keyOf(record) <= cursor) return false;
    return (
      version === null ||
      (version === "latest" ? isLatest(record, records) : record.server.version === version)
    );
  });
  const page = matching.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = matching.length > page.length && last !== undefined ? { nextCursor: keyOf(last) } : {};
  const servers = page.map((record) => toResponse(record, records));
  return { body: { servers, metadata: { ...nextCursor, count: page.length } } };
}

const isLatest = (record: RegistryRecord, records: readonly RegistryRecord[]): boolean =>
  !records.some((other) => other.server.name === record.server.name && keyOf(other) > keyOf(record));

function toResponse(record: RegistryRecord, records: readonly RegistryRecord[]) {
  const { server, status = "active", statusMessage, updatedAt = DAY } = record;
  const official = {
    status,
    statusChangedAt: DAY,
    publishedAt: DAY,
    updatedAt,
    isLatest: isLatest(record, records),
  };
  return { server, _meta: { [OFFICIAL]: { ...official, ...(statusMessage && { statusMessage }) } } };
}

function sendProblem(
  response: ServerResponse,
  { problem, status }: { problem: string; status: number },
  form: "problem" | "plain",
): void {
  const isPlain = form === "plain";
  response.writeHead(status, { "content-type": isPlain ? "application/json" : "application/problem+json" });
  const errors = [{ message: problem, location: "query" }];
  response.end(
    JSON.stringify(isPlain ? { error: problem } : { title: "Problem", status, detail: problem, errors }),
  );
}

/** A registry for each test, and clients of it that do not wait long between attempts. */
export function useRegistry() {
  const warnings: RegistryWarning[] = [];
  const { server: registry, open, close } = createServerSlot<RegistryTestServer>();
  beforeEach(async () => {
    warnings.length = 0;
    await open(startRegistryServer);
  });
  afterEach(close);
  return {
    registry,
    warnings,
    client: (options: McpRegistryClientOptions = {}) =>
      new McpRegistryClient({
        baseUrl: registry.url,
        retry: { baseMs: 1 },
        onWarning: (warning) => warnings.push(warning),
        ...options,
      }),
    /** Replaces the registry by one at another address. */
    async restart(options: RegistryServerOptions) {
      await close();
      await open(() => startRegistryServer(options));
    },
  };
}
