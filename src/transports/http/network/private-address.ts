/** Which addresses and host names are nobody's business on the public internet. */

type Block = readonly [base: number, bits: number];

const v4 = (text: string): number => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const block = (text: string): Block => {
  const [base = "", bits = "32"] = text.split("/");
  return [v4(base), Number(bits)];
};

/** IANA's special-purpose registry: everything that is not globally reachable. */
const PRIVATE_V4: readonly Block[] = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
].map(block);

const within = (address: number, [base, bits]: Block): boolean => {
  const size = 2 ** (32 - bits);
  return Math.floor(address / size) === Math.floor(base / size);
};

const isPrivateV4 = (address: number): boolean => PRIVATE_V4.some((range) => within(address, range));

/** The eight groups of an IPv6 address, canonicalised by the URL parser. */
function groupsOf(address: string): number[] | undefined {
  let canonical: string;
  try {
    canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  } catch {
    return undefined;
  }
  const [head = "", tail] = canonical.split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const left = parse(head);
  if (tail === undefined) return left;
  const right = parse(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

/** An IPv4 address that travels inside an IPv6 one: mapped, compatible, translated, NAT64, 6to4, ISATAP. */
function embeddedV4(groups: readonly number[]): number | undefined {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const last = g * 65_536 + h;
  if (a === 0 && b === 0 && c === 0 && d === 0) {
    if (e === 0 && (f === 0 || f === 0xffff)) return last;
    if (e === 0xffff && f === 0) return last;
  }
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return last;
  if (a === 0x2002) return b * 65_536 + c;
  if ((e === 0 || e === 0x200) && f === 0x5efe) return last;
  return undefined;
}

function isPrivateV6(groups: readonly number[]): boolean {
  const embedded = embeddedV4(groups);
  if (embedded !== undefined) return isPrivateV4(embedded);
  const [a = 0, b = 0, c = 0] = groups;
  if (a === 0x64 && b === 0xff9b && c === 1) return true; // NAT64, local use
  if (a === 0x100 || a === 0x5f00) return true; // discard only; segment routing
  if (a === 0x2001 && (b === 0 || b === 0xdb8)) return true; // Teredo; documentation
  if (a === 0x3fff) return true; // documentation
  // Global unicast is 2000::/3; unique local, link local, site local and multicast are all outside.
  return a < 0x2000 || a > 0x3fff;
}

/**
 * Whether an IP address is not one of the public internet. What is not an IP address at all counts as private.
 *
 * @param address dotted IPv4 or IPv6, with or without brackets and zone
 */
export function isPrivateAddress(address: string): boolean {
  const bare = (address.startsWith("[") ? address.slice(1, -1) : address).split("%")[0] ?? "";
  if (bare.includes(":")) {
    const groups = groupsOf(bare);
    return groups === undefined || isPrivateV6(groups);
  }
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(bare) ? isPrivateV4(v4(bare)) : true;
}

/** Suffixes that name something on this machine or in this network. */
const LOCAL_NAMES = ["localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain"];

/** The host of a URL in its one spelling: lower case, without brackets and without the root's dot. */
export function canonicalHost(url: URL): string {
  const host = url.hostname.toLowerCase();
  if (host.startsWith("[")) return host.slice(1, -1);
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** Whether the canonical host is a literal address; the URL parser has already turned octal, hex and decimal into dots. */
function isLiteralAddress(host: string): boolean {
  return host.includes(":") || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
}

/** Whether a canonical host is private by its looks alone, before any name resolution. */
export function isPrivateHost(host: string): boolean {
  if (isLiteralAddress(host)) return isPrivateAddress(host);
  return host === "" || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether a canonical host is this machine. */
export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(\.\d+){3}$/.test(host)
  );
}
