/** Host names and literal addresses, told apart by their spelling alone. */

/** Suffixes that name something on this machine or in this network. */
const LOCAL_NAMES = ["localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain"];

/** The host of a URL in its one spelling: lower case, without brackets and without the root's dot. */
export function canonicalHost(url: URL): string {
  const host = url.hostname.toLowerCase();
  if (host.startsWith("[")) return host.slice(1, -1);
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** Whether a canonical host is a literal address; the URL parser has already turned octal, hex and decimal into dots. */
export function isLiteralAddress(host: string): boolean {
  return host.includes(":") || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
}

/** Whether a canonical host is a name of this machine or of this network. */
export function isLocalName(host: string): boolean {
  return host === "" || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether a canonical host is this machine. */
export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(\.\d+){3}$/.test(host)
  );
}
