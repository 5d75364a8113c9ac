/** Judges a URL learned from the network before a proxy is asked to connect to it. */
import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { ToolportError } from "../../../../errors/toolport-error.js";
import { checkedLookup } from "../checked-lookup.js";
import type { AddressCheck } from "../wire.js";

/**
 * Rejects if the name resolves here to an address that the check refuses. A name that does not resolve here is left to the
 * proxy: behind a firewall only the proxy may be able to resolve it.
 */
export function checkTarget(
  hostname: string,
  check: AddressCheck,
  lookup: LookupFunction = systemLookup as LookupFunction,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null | undefined) =>
      ToolportError.isInstance(error) ? reject(error) : resolve();
    if (isIP(hostname) !== 0) done(check(hostname));
    else checkedLookup(check, lookup)(hostname, { all: true }, done);
  });
}
