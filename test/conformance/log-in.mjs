/** Helpers of the `auth/*` scenarios: the options of the entry, and a user who accepts everything. */

/** The callback URL; no server listens there, because the test finishes the login itself. */
export const CALLBACK_URL = "http://localhost:3000/callback";

export const CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** More logins than this in one scenario count as a loop. */
const MAX_LOGINS = 5;

/** The `oauth` of the server's entry. */
export function oauthOptions(scenario, context) {
  const { client_id: clientId, client_secret: clientSecret, issuer } = context;
  const client = {
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret }),
    ...(issuer && { issuer }),
  };
  switch (scenario) {
    case "auth/client-credentials-jwt": {
      const { private_key_pem: privateKey, signing_algorithm: algorithm } = context;
      return { ...client, grant: "client_credentials", privateKey, algorithm };
    }
    case "auth/client-credentials-basic":
      return { ...client, grant: "client_credentials" };
    case "auth/wif-jwt-bearer":
      return { ...client, grant: "jwt-bearer", assertion: context.valid_jwt };
    case "auth/enterprise-managed-authorization":
      return {
        ...client,
        grant: "enterprise",
        enterprise: {
          issuer: context.idp_issuer,
          tokenEndpoint: context.idp_token_endpoint,
          clientId: context.idp_client_id,
          idToken: context.idp_id_token,
        },
      };
    case "auth/dpop":
    case "auth/dpop-nonce":
      return { ...client, dpop: true };
    default:
      return { ...client, clientMetadataUrl: CLIENT_METADATA_URL };
  }
}

/** Connects, and logs in whenever the server requires it. */
export async function connectWithLogins(toolport, server) {
  const { servers } = await toolport.connect();
  let report = servers[server];
  for (
    let logins = 0;
    report.state === "authenticating" && report.authUrl && logins < MAX_LOGINS;
    logins += 1
  )
    report = await logIn(toolport, server, report.authUrl);
  return report;
}

/** Runs an action, and logs in again whenever it is required. */
export async function withLogins(toolport, server, run) {
  for (let logins = 0; ; logins += 1) {
    try {
      return await run();
    } catch (error) {
      if (error?.code !== "AUTH_REQUIRED" || !error.authUrl || logins >= MAX_LOGINS) throw error;
      const { state, error: failure } = await logIn(toolport, server, error.authUrl);
      if (state !== "ready") throw failure ?? error;
    }
  }
}

/** A browser with a user: follows the link, and returns the parameters of the callback. */
async function logIn(toolport, server, authUrl) {
  const answer = await fetch(authUrl, { redirect: "manual" });
  const location = answer.headers.get("location");
  if (location === null) throw new Error(`The authorization server answered with ${answer.status}`);
  return toolport.finishAuth(server, new URL(location).searchParams);
}
