/** A server that requires a login. */
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { listenOnLoopback, sendWebResponse, toWebRequest } from "../../testing/local-http.js";
import { allOrNone, createDemoServer } from "./create-demo-server.js";

const METADATA_PATH = "/.well-known/oauth-protected-resource";

export type VaultServer = Awaited<ReturnType<typeof startVault>>;

export async function startVault() {
  const authorization = await startAuthorizationServer();
  const vault = createDemoServer({
    name: "vault",
    tools: {
      open: {
        description: "Opens the vault",
        inputSchema: { type: "object", properties: {} },
        handler: () => "the vault is open",
      },
    },
  });
  const close = async () => {
    await vault.close();
    await authorization.close();
  };
  const listening = vault.http({
    anyPath: true,
    intercept: (request) => {
      const { origin, pathname } = new URL(request.url);
      if (pathname.startsWith(METADATA_PATH))
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [authorization.issuer] });
      if (pathname !== "/mcp") return undefined;
      const token = request.headers.get("authorization")?.replace(/^Bearer /, "");
      if (authorization.isValid(token)) return undefined;
      const challenge = `Bearer resource_metadata="${origin}${METADATA_PATH}"`;
      return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
    },
  });
  const [server] = await allOrNone([listening], close);
  return { server, authorization, close };
}

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
}

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { "cache-control": "no-store" } });

async function startAuthorizationServer() {
  const codes = new Map<string, Grant>();
  const accessTokens = new Set<string>();
  const refreshTokens = new Set<string>();
  /** Requests so far. */
  const counts = { tokens: 0, logins: 0 };
  let issuer = "";

  function authorize({ searchParams }: URL): Response {
    counts.logins += 1;
    const redirectUri = searchParams.get("redirect_uri") ?? "";
    const code = randomUUID();
    codes.set(code, { challenge: searchParams.get("code_challenge") ?? "", redirectUri });
    const back = new URL(redirectUri);
    back.search = new URLSearchParams({
      code,
      state: searchParams.get("state") ?? "",
      iss: issuer,
    }).toString();
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  /** Accepts each code once, with its PKCE verifier, and each refresh token once. */
  function mayHaveTokens(form: URLSearchParams): boolean {
    if (form.get("grant_type") === "refresh_token")
      return refreshTokens.delete(form.get("refresh_token") ?? "");
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return grant?.challenge === challenge && grant.redirectUri === form.get("redirect_uri");
  }

  async function token(request: Request): Promise<Response> {
    counts.tokens += 1;
    if (!mayHaveTokens(new URLSearchParams(await request.text())))
      return json({ error: "invalid_grant" }, 400);
    const [access, refresh] = [randomUUID(), randomUUID()];
    accessTokens.add(access);
    refreshTokens.add(refresh);
    return json({ access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 3_600 });
  }

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/oauth-authorization-server":
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/register":
        return json({ ...((await request.json()) as object), client_id: randomUUID() }, 201);
      case "/authorize":
        return authorize(url);
      case "/token":
        return token(request);
      default:
        return json({ error: "not_found" }, 404);
    }
  }

  const listener = createServer((request, response) => {
    toWebRequest(request, response)
      .then(answer)
      .then((answered) => sendWebResponse(answered, response))
      .catch(() => response.destroy());
  });
  const listening = await listenOnLoopback(listener, 0);
  issuer = `http://${listening.address}`;
  return {
    issuer,
    counts,
    isValid: (given: string | undefined): boolean => given !== undefined && accessTokens.has(given),
    /** Makes all access tokens invalid. */
    expireTokens: () => accessTokens.clear(),
    close: () => listening.close(),
  };
}
