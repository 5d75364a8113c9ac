/** What the OAuth flow of one server and one user needs. */
import type { OAuthOptions } from "../config/read-oauth.js";
import type { Store } from "../state/store.js";
import { createGuardedFetch, type ObservedExchange } from "../transports/http/network/guarded-fetch.js";
import type { HttpClient } from "../transports/server-transport.js";

export interface OAuthContext {
  /** Configured name of the server. */
  readonly server: string;
  /** The result of `serverIdentity`; it is part of the keys of the credentials. */
  readonly identity: string;
  /** The configured MCP endpoint: access tokens are sent only to its origin. */
  readonly serverUrl: URL;
  readonly options: OAuthOptions;
  /** The user; undefined for a port without users. */
  readonly principal: string | undefined;
  readonly store: Store;
  readonly http: () => Promise<HttpClient>;
  /** Redirect URL, if the server's own options set none. */
  readonly callbackUrl: string | undefined;
  /** Shown to users during a login with a dynamically registered client. */
  readonly clientName: string;
  warn(message: string): void;
  /** Receives every request to the authorization server. @default none */
  readonly observe?: ((exchange: ObservedExchange) => void) | undefined;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** The URL to which the authorization server redirects the user after the login. */
export function redirectUrlOf({ options, callbackUrl }: OAuthContext): string | undefined {
  const { redirectUrl } = options;
  return redirectUrl === undefined ? callbackUrl : String(redirectUrl);
}

/** Whether a user has to log in. False if the client has credentials of its own. */
export const isInteractive = ({ options }: OAuthContext): boolean =>
  (options.grant ?? "authorization_code") === "authorization_code";

export const nowOf = ({ now = Date.now }: OAuthContext): number => now();

/** The fetch for all requests to the authorization server. */
export async function guardedFetchOf(context: OAuthContext): Promise<typeof globalThis.fetch> {
  const { serverUrl, options, http, observe } = context;
  return createGuardedFetch(await http(), { serverUrl, allowedHosts: options.allowedHosts, observe });
}

/** A fetch that remembers the status of its last response, for SDK functions whose errors do not contain it. */
export function observeFetch(send: typeof globalThis.fetch) {
  let status: number | undefined;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    status = undefined;
    const response = await send(input, init);
    status = response.status;
    return response;
  };
  /** `status()`: undefined if there was no response. */
  return { fetch, status: () => status };
}
