/** OAuth provider object for the other libraries: a store in memory that returns everything it was given. */

const CALLBACK_URL = "http://127.0.0.1:4545/callback";

/**
 * `loginState.issued` are tokens of an earlier login, `loginState.client` the client they were for; `loginState.redirects` gets the URLs
 * that the library would have opened in a browser.
 */
export function createAuthProvider(loginState) {
  const kept = { tokens: loginState.issued, client: loginState.client };
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
      token_endpoint_auth_method:
        loginState.client?.client_secret === undefined ? "none" : "client_secret_post",
    },
    redirectToAuthorization(url) {
      loginState.redirects.push(String(url));
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
    // The fields in which the official SDK and the AI SDK store the issuer.
    discoveryState: () => kept.discovery,
    saveDiscoveryState: keep("discovery"),
    authorizationServerInformation: () => kept.authorizationServer,
    saveAuthorizationServerInformation: keep("authorizationServer"),
  };
}
