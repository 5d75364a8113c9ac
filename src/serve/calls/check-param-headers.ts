/** Checks the arguments that a modern client repeats as `Mcp-Param-*` headers. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { type ParamHeader, readParamHeaders } from "../../protocol/param-headers.js";
import { decodeHeaderText } from "../../util/header-text.js";
import { type Fields, isFields, mismatch } from "../message.js";
import type { RequestContext } from "../request-context.js";

const NONE: readonly ParamHeader[] = [];
const declared = new WeakMap<object, readonly ParamHeader[]>();

/** Throws `-32020` if a header is missing or differs from the body. The body decides what is sent. */
export function checkParamHeaders(
  { client, exchange }: RequestContext,
  { info }: CatalogEntry,
  args: Fields,
): void {
  if (client.era !== "modern" || exchange.header === undefined) return;
  for (const { path, header } of headersOf(info.inputSchema)) {
    const value = path.reduce<unknown>((node, key) => (isFields(node) ? node[key] : undefined), args);
    if (value === undefined || value === null || typeof value === "object") continue;
    const given = exchange.header(header.toLowerCase())?.trim();
    if (given === undefined) throw mismatch(`the ${header} header is missing`);
    const decoded = decodeHeaderText(given);
    if (decoded === undefined) throw mismatch(`the ${header} header is not encoded correctly`);
    const isEqual = typeof value === "number" ? Number(decoded) === value : decoded === String(value);
    if (!isEqual) throw mismatch(`the ${header} header differs from the argument ${path.join(".")}`);
  }
}

function headersOf(schema: Fields): readonly ParamHeader[] {
  const known = declared.get(schema);
  if (known !== undefined) return known;
  const read = readParamHeaders(schema);
  const headers = typeof read === "string" ? NONE : read;
  declared.set(schema, headers);
  return headers;
}
