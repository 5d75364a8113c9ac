/** One user of a port: the same servers, reached with that user's own credentials. */
import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { freezeConfig } from "./config/config-view.js";
import { SecretRecord } from "./config/secret-record.js";
import type { HeaderSource, ServerConfig } from "./config/server-config.js";
import type { HeadersOption } from "./config/server-entry.js";

/** What `as()` takes besides the name. */
export interface PrincipalOptions {
  /** Sent to every server reached over HTTP or WebSocket, in place of a configured header of the same name. */
  headers?: HeadersOption;
  /** Used for every server reached over HTTP, in place of the configured one. */
  authProvider?: AuthProvider | OAuthClientProvider;
}

export interface Principal extends PrincipalOptions {
  readonly name: string;
}

const reveal = async (source: HeaderSource | HeadersOption): Promise<Readonly<Record<string, string>>> => {
  if (typeof source === "function") return source();
  return source instanceof SecretRecord ? source.reveal() : source;
};

/** Header names are the same in any case; the user's own value wins. */
function merge(
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

function mergeHeaders(base: HeaderSource, own: HeadersOption): HeaderSource {
  if (base instanceof SecretRecord && typeof own !== "function")
    return new SecretRecord(merge(base.reveal(), own));
  return async () => merge(await reveal(base), await reveal(own));
}

/** The configuration of a server for one principal. */
export function configFor(config: ServerConfig, principal: Principal | undefined): ServerConfig {
  if (principal === undefined || !("headers" in config)) return config;
  const { headers, authProvider } = principal;
  return freezeConfig({
    ...config,
    ...(headers !== undefined && { headers: mergeHeaders(config.headers, headers) }),
    ...("authProvider" in config && { authProvider: authProvider ?? config.authProvider }),
  } as ServerConfig);
}
