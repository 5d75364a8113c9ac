/**
 * Tool arguments that are sent to modern servers over HTTP as `Mcp-Param-*` headers too.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */

import { encodeHeaderText, isRecord } from "@toolport/base";

/** An argument that is sent as a header. */
export interface ParamHeader {
  readonly path: readonly string[];
  /** Header name, including the prefix. */
  readonly header: string;
}

/** The schema keyword that declares a header. */
export const PARAM_HEADER_KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES = new Set(["string", "integer", "boolean"]);
/** Limits the recursion; the schema checks reject deeper schemas. */
const MAX_DEPTH = 256;

type Schema = Readonly<Record<string, unknown>>;

/** The declared headers of a schema, or a description of the fault (the tool must then be withheld). */
export function readParamHeaders(inputSchema: Schema): readonly ParamHeader[] | string {
  const found: ParamHeader[] = [];
  const names = new Set<string>();

  function declare(schema: Schema, path: readonly string[], reachable: boolean): string | undefined {
    const name = schema[PARAM_HEADER_KEY];
    if (!reachable || path.length === 0) return `${PARAM_HEADER_KEY} is used where it is not allowed`;
    if (typeof name !== "string" || !TOKEN.test(name))
      return `${PARAM_HEADER_KEY} at ${path.join(".")} is not a header name`;
    if (!TYPES.has(schema["type"] as string))
      return `${PARAM_HEADER_KEY} at ${path.join(".")} is not on a string, integer or boolean`;
    if (names.has(name.toLowerCase())) return `${PARAM_HEADER_KEY} ${name} is declared twice`;
    names.add(name.toLowerCase());
    found.push({ path, header: `Mcp-Param-${name}` });
    return undefined;
  }

  /** A declaration is valid only if nothing but `properties` leads to it; elsewhere it makes the tool invalid. */
  function visit(schema: unknown, path: readonly string[], reachable: boolean): string | undefined {
    if (path.length > MAX_DEPTH) return undefined;
    if (Array.isArray(schema)) return first(schema, (branch) => visit(branch, [...path, "[]"], false));
    if (!isRecord(schema)) return undefined;
    const fault = PARAM_HEADER_KEY in schema ? declare(schema, path, reachable) : undefined;
    if (fault !== undefined) return fault;
    return first(Object.entries(schema), ([keyword, value]) => {
      if (keyword === "properties" && isRecord(value)) {
        return first(Object.entries(value), ([name, child]) => visit(child, [...path, name], reachable));
      }
      // These keywords contain data, not schemas.
      if (keyword === "enum" || keyword === "const" || keyword === "default" || keyword === "examples")
        return undefined;
      return visit(value, [...path, `<${keyword}>`], false);
    });
  }

  return visit(inputSchema, [], true) ?? found;
}

function first<Item>(items: readonly Item[], check: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = check(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The headers of one call. Missing and null arguments have none. */
export function paramHeaders(
  declared: readonly ParamHeader[],
  args: Readonly<Record<string, unknown>>,
): Record<string, string> | undefined {
  if (declared.length === 0) return undefined;
  const headers: Record<string, string> = {};
  for (const { path, header } of declared) {
    const value = asText(path.reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), args));
    if (value !== undefined) headers[header] = encodeHeaderText(value);
  }
  return headers;
}

function asText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && Number.isFinite(value)) {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
  }
  return undefined;
}
