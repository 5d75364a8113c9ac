/** Counts the gateways that a request or an entry of a list has passed, so that a gateway among its own servers does not loop. */
import { type Fields, isRecord } from "../util/is-record.js";
import { metaOf } from "./message.js";

/** Key in `_meta` of requests, and of the entries of lists. */
export const HOPS_META_KEY = "toolport/hops";
const MAX_HOPS = 4;

/** The number of gateways after this one. */
export function nextHop(params: Fields): number {
  const given = metaOf(params)?.[HOPS_META_KEY];
  return typeof given === "number" && given > 0 ? Math.floor(given) + 1 : 1;
}

export const isTooFar = (hops: number): boolean => hops > MAX_HOPS;

/** An entry of a list with its hops. Undefined if a request for it would pass too many gateways. */
export function withHops(item: Fields): Fields | undefined {
  const hops = nextHop(item);
  if (isTooFar(hops)) return undefined;
  const { _meta } = item;
  return { ...item, _meta: { ...(isRecord(_meta) && _meta), [HOPS_META_KEY]: hops } };
}
