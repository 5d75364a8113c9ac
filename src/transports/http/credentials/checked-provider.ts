/** Wraps a caller's `authProvider` for the SDK's login, so that the rules of Toolport's own OAuth apply to it too. */

import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { canParseUrl } from "../../../util/can-parse-url.js";
import { checkLoginPage, checkPkce } from "./login-page.js";

export interface CheckOptions {
  /** The discovery state of the started login, for a provider that does not save it. */
  readonly discovery?: OAuthDiscoveryState | undefined;
  /** Called before the user is redirected to the login page. */
  readonly onRedirect?: (url: URL, discovery: OAuthDiscoveryState | undefined) => void;
}

/**
 * For one login or refresh by the SDK.
 *
 * Tokens without a recorded issuer are withheld unless the authorization server and its token endpoint are both on the MCP
 * server's own origin. Any other address was named by the MCP server, and would receive a refresh token (with the client's
 * secret) that another server may have issued. The user logs in once more; the new tokens record their issuer.
 */
export function checkedProvider(
  provider: OAuthClientProvider,
  serverUrl: URL,
  { discovery, onRedirect }: CheckOptions = {},
): OAuthClientProvider {
  let state: OAuthDiscoveryState | undefined;
  const own: Partial<OAuthClientProvider> = {
    async discoveryState() {
      state = (await provider.discoveryState?.()) ?? discovery;
      return state;
    },
    async saveDiscoveryState(discovered) {
      state = discovered;
      await provider.saveDiscoveryState?.(discovered);
    },
    async redirectToAuthorization(url) {
      await checkLoginPage(url.href, { serverUrl });
      const metadata = state?.authorizationServerMetadata;
      if (metadata !== undefined) checkPkce(metadata);
      onRedirect?.(url, state);
      await provider.redirectToAuthorization(url);
    },
    async tokens(context) {
      const tokens = await provider.tokens(context);
      // Without a context the tokens are for the MCP server itself.
      // A database may return null for a field that was never stored; the SDK also treats that as unrecorded.
      if (context === undefined || tokens === undefined || typeof tokens.issuer === "string") return tokens;
      const targets = [context.issuer, state?.authorizationServerMetadata?.token_endpoint ?? context.issuer];
      return targets.every((target) => isAt(serverUrl.origin, target)) ? tokens : undefined;
    },
  };
  // No copy: only the provider's own methods can access its private fields. No proxy of it either: it may be frozen.
  return new Proxy({} as OAuthClientProvider, {
    has: (_, key) => key in own || key in provider,
    get(_, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof OAuthClientProvider];
      const value: unknown = Reflect.get(provider, key);
      return typeof value === "function" ? value.bind(provider) : value;
    },
  });
}

function isAt(origin: string, url: string): boolean {
  return canParseUrl(url) && new URL(url).origin === origin;
}
