/** Addresses that are not part of the public internet. Loaded lazily, because of `ipaddr.js`. */
import ipaddr from "ipaddr.js";
import { isLiteralAddress, isLocalName } from "./local-host.js";

type IPv4 = InstanceType<typeof ipaddr.IPv4>;
type IPv6 = InstanceType<typeof ipaddr.IPv6>;

/** Azure's platform services (DNS, guest agent, keys), reachable from its virtual machines only. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an IP address is not one of the public internet. What is not an IP address at all counts as private.
 *
 * @param address dotted IPv4 or IPv6, with or without brackets and zone
 */
export function isPrivateAddress(address: string): boolean {
  const bare = (address.startsWith("[") ? address.slice(1, -1) : address).split("%")[0] ?? "";
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return isPrivateV4(ipaddr.IPv4.parse(bare));
  return ipaddr.IPv6.isValid(bare) ? isPrivateV6(ipaddr.IPv6.parse(bare)) : true;
}

/** Whether a canonical host is private by its looks alone, before any name resolution. */
export function isPrivateHost(host: string): boolean {
  return isLiteralAddress(host) ? isPrivateAddress(host) : isLocalName(host);
}

function isPrivateV4(address: IPv4): boolean {
  return address.range() !== "unicast" || address.toString() === AZURE_PLATFORM;
}

function isPrivateV6(address: IPv6): boolean {
  const { parts } = address;
  const [first = 0, second = 0, third = 0, , fifth = 0, sixth = 0, seventh = 0, last = 0] = parts;
  switch (address.range()) {
    case "ipv4Mapped":
    case "rfc6145":
      return isPrivateV4(embedded(seventh, last));
    case "rfc6052":
      // NAT64: an address of the whole internet, or one for local use.
      return third !== 0 || isPrivateV4(embedded(seventh, last));
    case "6to4":
      return isPrivateV4(embedded(second, third));
    case "unicast": {
      // The library calls unassigned space unicast too. Only 2000::/3 is in use, and 3fff::/16 is for documentation.
      if (first < 0x2000 || first >= 0x3fff) return true;
      const isIsatap = (fifth === 0 || fifth === 0x200) && sixth === 0x5efe;
      return isIsatap && isPrivateV4(embedded(seventh, last));
    }
    default:
      return true;
  }
}

/** The IPv4 address in two groups of an IPv6 address. */
function embedded(high: number, low: number): IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
