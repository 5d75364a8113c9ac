/** Providers as users of the SDK write them, for the `auth/*` scenarios: everything in memory. */
import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  DpopSession,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
import { CALLBACK_URL, CLIENT_METADATA_URL } from "./log-in.mjs";

/** For the authorization code flow. */
class MemoryProvider {
  redirectUrl = CALLBACK_URL;
  clientMetadataUrl = CLIENT_METADATA_URL;
  clientMetadata = {
    client_name: "conformance",
    redirect_uris: [CALLBACK_URL],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  #client;
  #tokens;
  #verifier;

  constructor({ client_id, client_secret, issuer }) {
    if (client_id)
      this.#client = { client_id, ...(client_secret && { client_secret }), ...(issuer && { issuer }) };
  }
  state = () => crypto.randomUUID();
  clientInformation = () => this.#client;
  saveClientInformation(client) {
    this.#client = client;
  }
  tokens = () => this.#tokens;
  saveTokens(tokens) {
    this.#tokens = tokens;
  }
  redirectToAuthorization() {}
  saveCodeVerifier(verifier) {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "client") this.#client = undefined;
    if (scope === "all" || scope === "tokens") this.#tokens = undefined;
  }
}

class BoundProvider extends MemoryProvider {
  #session = DpopSession.create();
  dpop = () => this.#session;
}

/** RFC 7523, with the platform's token as the assertion. */
class AssertionProvider extends MemoryProvider {
  redirectUrl = undefined;
  clientMetadata = { redirect_uris: [], grant_types: ["urn:ietf:params:oauth:grant-type:jwt-bearer"] };
  #assertion;
  constructor(context) {
    super(context);
    this.#assertion = context.valid_jwt;
  }
  prepareTokenRequest(scope) {
    return new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: this.#assertion,
      ...(scope && { scope }),
    });
  }
}

/** The `authProvider` of the server's entry. With `keepsDiscovery` it never discovers an authorization server twice on its own. */
export function ownProvider(scenario, context, { keepsDiscovery }) {
  const provider = createProvider(scenario, context);
  if (!keepsDiscovery) return provider;
  let discovered;
  return Object.assign(provider, {
    discoveryState: () => discovered,
    saveDiscoveryState: (state) => {
      discovered = state;
    },
  });
}

function createProvider(scenario, context) {
  const { client_id: clientId, client_secret: clientSecret, issuer } = context;
  const client = {
    clientId,
    ...(clientSecret && { clientSecret }),
    ...(issuer && { expectedIssuer: issuer }),
  };
  switch (scenario) {
    case "auth/client-credentials-jwt":
      return new PrivateKeyJwtProvider({
        ...client,
        privateKey: context.private_key_pem,
        algorithm: context.signing_algorithm ?? "ES256",
      });
    case "auth/client-credentials-basic":
      return new ClientCredentialsProvider(client);
    case "auth/wif-jwt-bearer":
      return new AssertionProvider(context);
    case "auth/enterprise-managed-authorization":
      return new CrossAppAccessProvider({
        ...client,
        assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
          const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
            tokenEndpoint: context.idp_token_endpoint,
            audience: authorizationServerUrl,
            resource: resourceUrl,
            idToken: context.idp_id_token,
            clientId: context.idp_client_id,
            scope,
            fetchFn,
          });
          return jwtAuthGrant;
        },
      });
    case "auth/dpop":
    case "auth/dpop-nonce":
      return new BoundProvider(context);
    default:
      return new MemoryProvider(context);
  }
}
