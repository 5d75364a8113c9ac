/** What the `auth/*` scenarios need besides a client: the options of the entry, and a user who agrees to everything. */

/** Where the user comes back to; nobody listens there, because the browser's last step is taken by hand. */
export const CALLBACK_URL = "http://localhost:3000/callback";

export const CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** More logins than this for one scenario are a loop. */
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

/** Connects, logging in whenever the server wants it. */
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

/** Does something, logging in again whenever that turns out to be needed. */
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

/** A browser and a user: follows the link and is sent back with what the program is waiting for. */
async function logIn(toolport, server, authUrl) {
  const answer = await fetch(authUrl, { redirect: "manual" });
  const location = answer.headers.get("location");
  if (location === null) throw new Error(`The authorization server answered with ${answer.status}`);
  return toolport.finishAuth(server, new URL(location).searchParams);
}
