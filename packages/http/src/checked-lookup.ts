/** Name resolution that checks every address before a connection uses it. */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { ToolportError } from "@toolport/base";
import type { AddressCheck } from "./wire-client.js";

/**
 * Wraps a resolver. The connection uses exactly the checked addresses, without a second resolution, so DNS rebinding does
 * not work. Node does not call it for literal addresses.
 */
export function checkedLookup(
  check: AddressCheck,
  lookup: LookupFunction = systemLookup as LookupFunction,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null && error !== undefined) return callback(error, []);
      const addresses: LookupAddress[] = Array.isArray(found)
        ? found
        : [{ address: found, family: family ?? isIP(found) }];
      for (const { address } of addresses) {
        const refusal = check(address);
        if (refusal !== undefined) return callback(refusal, []);
      }
      const [first] = addresses;
      if (options.all === true || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}

/**
 * Checks a target before a proxy connects to it. Rejects if the name resolves here to an address that the check refuses.
 * A name that does not resolve here is accepted: behind a firewall only the proxy may be able to resolve it.
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
