/** Results as clients of each era expect them. */
import { keptTextOf } from "../util/kept-texts.js";
import { CLIENT_INFO } from "../util/version.js";
import type { GatewayClient } from "./client.js";
import { encodeJson, JsonPieces, type JsonText, wrapJson } from "./json-text.js";
import { type Fields, isFields, META, RESERVED_META } from "./message.js";

export const SERVER_INFO = CLIENT_INFO;

const SERVER_INFO_TEXT = JSON.stringify(SERVER_INFO);
const SERVER_META_TEXT = `"_meta":{"${META.serverInfo}":${SERVER_INFO_TEXT}}`;

/** How long a modern client may keep a result, and whether other users may see it. */
export interface CachePolicy {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

export const NOT_CACHED: CachePolicy = { ttlMs: 0, cacheScope: "private" };

/** `_meta` without the keys that belong to one connection. Undefined if nothing is left. */
function passedMeta(meta: unknown, keep?: string): Fields | undefined {
  if (!isFields(meta)) return undefined;
  const names = Object.keys(meta);
  if (!names.some((name) => name.startsWith(RESERVED_META) && name !== keep))
    return names.length === 0 ? undefined : meta;
  const passed = names.filter((name) => name === keep || !name.startsWith(RESERVED_META));
  return passed.length === 0 ? undefined : Object.fromEntries(passed.map((name) => [name, meta[name]]));
}

/** The parameters of a notification without what belongs to one connection. */
export function passedParams(params: Fields): Fields {
  const { _meta, ...rest } = params;
  const meta = passedMeta(_meta);
  return meta === _meta ? params : { ...rest, ...(meta && { _meta: meta }) };
}

/** The JSON text of a complete result. `fields` may be a raw result of a server. */
export function resultText(
  { era }: Pick<GatewayClient, "era">,
  fields: Fields,
  cache?: CachePolicy,
  resultType = "complete",
  ownMeta?: Fields,
): string {
  // Most results have no `_meta`: one pass, without copies.
  if (fields["_meta"] === undefined && fields["resultType"] === undefined && !cache && !ownMeta) {
    const text = JSON.stringify(fields);
    if (era === "legacy") return text;
    const head = `{"resultType":${resultType === "complete" ? '"complete"' : JSON.stringify(resultType)},`;
    return `${head}${text === "{}" ? "" : `${text.slice(1, -1)},`}${SERVER_META_TEXT}}`;
  }
  const { _meta, ...rest } = fields;
  const meta = passedMeta(_meta, META.relatedTask);
  if (era === "legacy")
    return JSON.stringify(meta === undefined ? rest : meta === _meta ? fields : { ...rest, _meta: meta });
  return JSON.stringify({
    resultType,
    ...rest,
    ...(cache && cacheFields(rest, cache)),
    _meta: { ...meta, ...ownMeta, [META.serverInfo]: SERVER_INFO },
  });
}

/** The JSON of the result of a call. Large content is passed on as its server wrote it. */
export function callResultText(
  client: Pick<GatewayClient, "era">,
  fields: Fields,
  resultType: string | undefined,
): JsonText {
  const kept = keptTextOf(fields["content"]);
  if (kept === undefined) return resultText(client, fields, undefined, resultType);
  const { content: _, ...others } = fields;
  const text = resultText(client, others, undefined, resultType);
  const pieces = typeof kept === "string" ? [encodeJson(kept)] : kept;
  return new JsonPieces(['{"content":', ...pieces, text === "{}" ? "}" : `,${text.slice(1)}`]);
}

/** The values of the server take precedence. */
function cacheFields(fields: Fields, cache: CachePolicy): CachePolicy {
  const { ttlMs, cacheScope } = fields;
  return {
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? Math.floor(ttlMs) : cache.ttlMs,
    cacheScope: cacheScope === "public" || cacheScope === "private" ? cacheScope : cache.cacheScope,
  };
}

/** The JSON of a result with one list. */
export function listText(
  { era }: Pick<GatewayClient, "era">,
  { key, entries, nextCursor, cache }: ListParts,
): JsonText {
  const cursor = nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  if (era === "legacy") return wrapJson(`{"${key}":[`, entries, `]${cursor}}`);
  const { ttlMs, cacheScope } = cache;
  return wrapJson(
    `{"resultType":"complete","${key}":[`,
    entries,
    `]${cursor},"ttlMs":${ttlMs},"cacheScope":"${cacheScope}",${SERVER_META_TEXT}}`,
  );
}

interface ListParts {
  readonly key: string;
  /** Separated by commas. */
  readonly entries: JsonText;
  readonly nextCursor: string | undefined;
  readonly cache: CachePolicy;
}

/** The JSON text of a whole response. */
export const responseText = (id: unknown, result: JsonText): JsonText =>
  wrapJson(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, result, "}");

/** The JSON text of an error response. */
export const errorText = (
  id: unknown,
  { code, message, data }: { code: number; message: string; data?: unknown },
): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: id ?? null,
    error: { code, message, ...(data !== undefined && { data }) },
  });

/** The JSON text of a notification. */
export const notificationText = (method: string, params?: Fields): string =>
  JSON.stringify({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
