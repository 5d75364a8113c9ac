/** Recognises local host names and literal addresses by their spelling, without name resolution. */

/** Suffixes of names on this machine or in the local network. */
const LOCAL_NAMES = ["localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain"];

/** The canonical host of a URL: lower case, without brackets and without the trailing dot. */
export function canonicalHost(url: URL): string {
  const host = url.hostname.toLowerCase();
  if (host.startsWith("[")) return host.slice(1, -1);
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** Whether a canonical host is a literal address. The URL parser has already converted octal, hex and decimal forms. */
export function isLiteralAddress(host: string): boolean {
  return host.includes(":") || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
}

/** Whether a canonical host is a name of this machine or of the local network. */
export function isLocalName(host: string): boolean {
  return host === "" || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether a canonical host is this machine. */
export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(\.\d+){3}$/.test(host)
  );
}
