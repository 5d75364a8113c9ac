/** What the OAuth of one server and one user has to work with. */
import type { OAuthOptions } from "../config/oauth-options.js";
import type { Store } from "../state/store.js";
import { createGuardedFetch } from "../transports/http/network/guarded-fetch.js";
import type { HttpClient } from "../transports/server-transport.js";

export interface OAuthContext {
  /** Name of the server, as configured. */
  readonly server: string;
  /** What `serverIdentity` says of the server: credentials are kept by it. */
  readonly identity: string;
  /** Whether credentials that version 0.1 kept by address can only be this server's. @default they are not */
  readonly ownsAddress?: (() => Promise<boolean>) | undefined;
  /** The configured MCP endpoint: the only address that gets to see access tokens. */
  readonly serverUrl: URL;
  readonly options: OAuthOptions;
  /** Whose credentials; undefined where the port has no users. */
  readonly principal: string | undefined;
  readonly store: Store;
  readonly http: () => Promise<HttpClient>;
  /** Where users come back to, if the server's own options do not say. */
  readonly callbackUrl: string | undefined;
  /** Shown to users where the client is registered dynamically. */
  readonly clientName: string;
  warn(message: string): void;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** Where the authorization server sends the user back to. */
export function redirectUrlOf({ options, callbackUrl }: OAuthContext): string | undefined {
  const { redirectUrl } = options;
  return redirectUrl === undefined ? callbackUrl : String(redirectUrl);
}

/** A user has to log in, as opposed to a program that has credentials of its own. */
export const isInteractive = ({ options }: OAuthContext): boolean =>
  (options.grant ?? "authorization_code") === "authorization_code";

export const nowOf = ({ now = Date.now }: OAuthContext): number => now();

/** The fetch for everything that has to do with the authorization server. */
export async function guardedFetchOf(context: OAuthContext): Promise<typeof globalThis.fetch> {
  const { serverUrl, options, http } = context;
  return createGuardedFetch(await http(), { serverUrl, allowedHosts: options.allowedHosts });
}

export interface ObservedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Status of the last answer; undefined if there was none. */
  status(): number | undefined;
}

export function observeFetch(fetch: typeof globalThis.fetch): ObservedFetch {
  let status: number | undefined;
  return {
    async fetch(input, init) {
      status = undefined;
      const response = await fetch(input, init);
      status = response.status;
      return response;
    },
    status: () => status,
  };
}
