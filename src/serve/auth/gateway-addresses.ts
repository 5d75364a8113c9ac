/** The public addresses of a gateway, derived from its options `url` and `path`. */

/** Where clients and browsers reach a gateway. */
export interface GatewayAddresses {
  /** The MCP endpoint: the resource of RFC 8707 and 9728, and the default audience of tokens. */
  readonly resource: string;
  /** The metadata document of RFC 9728. */
  readonly metadataUrl: string;
  /** The folder of the connect pages, without a slash at the end. */
  readonly connectUrl: string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/**
 * The addresses of a gateway.
 *
 * @param url the address that clients use. Without a path of its own, `path` is appended
 * @example
 * ```ts
 * gatewayAddresses("https://tools.example.com", "/mcp").resource; // "https://tools.example.com/mcp"
 * ```
 */
export function gatewayAddresses(url: string, path: string): GatewayAddresses {
  const { origin, pathname, search } = new URL(url);
  const given = withoutSlash(pathname);
  const own = given === "" ? withoutSlash(path) : given;
  // A proxy may add a prefix: the connect pages are beside the endpoint.
  const suffix = withoutSlash(path);
  const folder = own.endsWith(suffix) ? own.slice(0, own.length - suffix.length) : "";
  return {
    resource: `${origin}${own}${search}`,
    metadataUrl: `${origin}${WELL_KNOWN}${own}${search}`,
    connectUrl: `${origin}${folder}/connect`,
  };
}

/** Whether a request asks for the metadata document, at the address of the endpoint or at that of the whole host. */
export function isMetadataPath(pathname: string, { metadataUrl }: GatewayAddresses): boolean {
  if (!pathname.startsWith(WELL_KNOWN)) return false;
  const asked = withoutSlash(pathname);
  return asked === WELL_KNOWN || asked === withoutSlash(new URL(metadataUrl).pathname);
}

const withoutSlash = (pathname: string): string => pathname.replace(/\/+$/, "");
