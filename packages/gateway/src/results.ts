/** Results as clients of each era expect them. */
import { CLIENT_INFO, type Fields, isRecord } from "@toolport/base";
import { type GatewayClient, META, RESERVED_META } from "./message.js";

/** How long a modern client may keep a result, and whether other users may see it. */
export interface CachePolicy {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

export const NOT_CACHED: CachePolicy = { ttlMs: 0, cacheScope: "private" };

/** `_meta` without the keys that belong to one connection. Undefined if nothing is left. */
function passedMeta(meta: unknown, keep?: string): Fields | undefined {
  if (!isRecord(meta)) return undefined;
  const passed = Object.entries(meta).filter(([name]) => name === keep || !name.startsWith(RESERVED_META));
  return passed.length === 0 ? undefined : Object.fromEntries(passed);
}

/** The parameters of a notification without what belongs to one connection. */
export function passedParams(params: Fields): Fields {
  const { _meta, ...rest } = params;
  const meta = passedMeta(_meta);
  return { ...rest, ...(meta && { _meta: meta }) };
}

interface ResultOptions {
  /** @default modern clients learn nothing about keeping the result */
  readonly cache?: CachePolicy | undefined;
  /** @default "complete" */
  readonly resultType?: string | undefined;
  /** Fields of `_meta` that the gateway adds. @default none */
  readonly ownMeta?: Fields | undefined;
}

/** The JSON text of a result. `fields` may be a raw result of a server. */
export function resultText(
  { era }: Pick<GatewayClient, "era">,
  fields: Fields,
  { cache, resultType = "complete", ownMeta }: ResultOptions = {},
): string {
  const { _meta, ...rest } = fields;
  const meta = _meta === undefined ? undefined : passedMeta(_meta, META.relatedTask);
  if (era === "legacy") return JSON.stringify({ ...rest, _meta: meta });
  return JSON.stringify({
    resultType,
    ...rest,
    ...(cache && cacheFields(rest, cache)),
    _meta: { ...meta, ...ownMeta, [META.serverInfo]: CLIENT_INFO },
  });
}

/** The values of the server take precedence. */
function cacheFields(fields: Fields, cache: CachePolicy): CachePolicy {
  const { ttlMs, cacheScope } = fields;
  return {
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? Math.floor(ttlMs) : cache.ttlMs,
    cacheScope: cacheScope === "public" || cacheScope === "private" ? cacheScope : cache.cacheScope,
  };
}

/** JSON as text or in UTF-8. */
export type Json = string | Uint8Array<ArrayBuffer>;

export const toText = (json: Json): string =>
  typeof json === "string" ? json : new TextDecoder().decode(json);

/** The JSON of a result with one list, whose entries are separated by commas. */
export function listJson(
  client: Pick<GatewayClient, "era">,
  key: string,
  entries: Json,
  { nextCursor, cache }: { nextCursor: string | undefined; cache: CachePolicy },
): Json {
  const rest = resultText(client, { nextCursor }, { cache });
  const [before, after] = [`{"${key}":[`, rest === "{}" ? "]}" : `],${rest.slice(1)}`];
  if (typeof entries === "string") return before + entries + after;
  return Buffer.concat([Buffer.from(before), entries, Buffer.from(after)]);
}

/** The JSON of a whole response. */
export function responseJson(id: unknown, result: Json): Json {
  const before = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  if (typeof result === "string") return `${before}${result}}`;
  return Buffer.concat([Buffer.from(before), result, Buffer.from("}")]);
}

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
