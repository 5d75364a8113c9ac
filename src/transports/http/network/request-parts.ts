/** A request as `node:http` takes it: the parts of its URL and its header fields. */
import { USER_AGENT } from "../../user-agent.js";
import type { WireRequest } from "./wire.js";

/** As Node takes them without another look at each: names and values in turn. */
export function toFields(headers: WireRequest["headers"], host: string): string[] {
  const fields = ["host", host];
  let hasEncoding = false;
  let hasAgent = false;
  for (const name in headers) {
    if (name === "accept-encoding") hasEncoding = true;
    else if (name === "user-agent") hasAgent = true;
    fields.push(name, headers[name]!);
  }
  if (!hasAgent) fields.push("user-agent", USER_AGENT);
  if (!hasEncoding) fields.push("accept-encoding", "identity");
  return fields;
}

export interface UrlParts {
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly protocol: string;
  readonly isSecure: boolean;
  readonly origin: string;
}

/** Taking a URL apart costs more than anything else we do for a request, and nearly all go to the same few. */
const known = new WeakMap<URL, UrlParts>();

export function partsOf(url: URL): UrlParts {
  let parts = known.get(url);
  if (parts === undefined) {
    const { host, hostname, port, protocol, pathname, search } = url;
    parts = {
      host,
      // An IPv6 address has brackets in a URL only.
      hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
      port,
      path: pathname + search,
      protocol,
      isSecure: protocol === "https:",
      origin: `${protocol}//${host}`,
    };
    known.set(url, parts);
  }
  return parts;
}
