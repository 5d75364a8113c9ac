/**
 * A provider of the caller's, for the SDK to log in with: it stores and opens what it always did, and the rules that
 * hold for the port's own OAuth hold for it as well.
 */
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { checkLoginPage, checkPkce } from "./login-page.js";

type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;

/** For one login or refresh of the SDK's. */
export function checkedProvider(provider: OAuthClientProvider, serverUrl: URL): OAuthClientProvider {
  let metadata: OAuthDiscoveryState["authorizationServerMetadata"];
  const own: Partial<OAuthClientProvider> = {
    async discoveryState() {
      const known = await provider.discoveryState?.();
      metadata = known?.authorizationServerMetadata;
      return known;
    },
    async saveDiscoveryState(state) {
      metadata = state.authorizationServerMetadata;
      await provider.saveDiscoveryState?.(state);
    },
    async redirectToAuthorization(url) {
      checkLoginPage(url.href, { serverUrl });
      if (metadata !== undefined) checkPkce(metadata);
      await provider.redirectToAuthorization(url);
    },
    async tokens(context) {
      const tokens = await provider.tokens(context);
      return mayGoTo(tokens, context?.issuer, serverUrl) ? tokens : undefined;
    },
  };
  // Not a copy: only a provider's own methods reach its private fields. Nor its proxy: it may be frozen.
  return new Proxy({} as OAuthClientProvider, {
    has: (_, key) => key in own || key in provider,
    get(_, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof OAuthClientProvider];
      const value: unknown = Reflect.get(provider, key);
      return typeof value === "function" ? value.bind(provider) : value;
    },
  });
}

/**
 * Tokens that do not say who issued them go only to an authorization server on the MCP server's own origin. Any other
 * is one that the MCP server has named, and it would get a refresh token that may be somebody else's: the user logs in
 * once more, and the new tokens say who issued them.
 */
function mayGoTo(tokens: Tokens, issuer: string | undefined, serverUrl: URL): boolean {
  if (tokens === undefined || tokens.issuer !== undefined || issuer === undefined) return true;
  return URL.canParse(issuer) && new URL(issuer).origin === serverUrl.origin;
}
