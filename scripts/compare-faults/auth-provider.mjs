/** The provider object that the peers ask for OAuth: a store in memory that gives back all that it was given. */

const CALLBACK_URL = "http://127.0.0.1:4545/callback";

/**
 * `desk.issued` are tokens of an earlier login, `desk.client` the client they were for; `desk.redirects` gets the URLs
 * that the library would have opened in a browser.
 */
export function createAuthProvider(desk) {
  const kept = { tokens: desk.issued, client: desk.client };
  const keep = (key) => (value) => {
    kept[key] = value;
  };
  return {
    redirectUrl: CALLBACK_URL,
    clientMetadata: {
      client_name: "Comparison",
      redirect_uris: [CALLBACK_URL],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: desk.client?.client_secret === undefined ? "none" : "client_secret_post",
    },
    redirectToAuthorization(url) {
      desk.redirects.push(String(url));
    },
    clientInformation: () => kept.client,
    saveClientInformation: keep("client"),
    tokens: () => kept.tokens,
    saveTokens: keep("tokens"),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: keep("verifier"),
    state: () => "a-state",
    saveState: keep("state"),
    storedState: () => kept.state,
    // Where the official SDK and the AI SDK, each by its own name, remember who issued what.
    discoveryState: () => kept.discovery,
    saveDiscoveryState: keep("discovery"),
    authorizationServerInformation: () => kept.authorizationServer,
    saveAuthorizationServerInformation: keep("authorizationServer"),
  };
}
