/** A scripted authorization server and a protected endpoint on loopback: it counts, rotates, and can be made evil. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenOnLoopback } from "../../src/testing/listen-on-loopback.js";

/** One request, as it came. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** The body as text. */
  readonly body: string;
  /** The body as a form. */
  readonly form: URLSearchParams;
}

/** What a script answers in place of the server. */
export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is text. */
  readonly body?: unknown;
}

type Script = (request: SeenRequest) => ScriptedAnswer | undefined | Promise<ScriptedAnswer | undefined>;

export interface FakeAuthorizationServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, which is the issuer. */
  readonly origin: string;
  /** The protected endpoint. */
  readonly mcpUrl: URL;
  readonly requests: SeenRequest[];
  /** Fields put over the authorization server's metadata; undefined takes one away. */
  metadata: Record<string, unknown>;
  /** Fields put over the resource's metadata; `false`: there is none. */
  resource: Record<string, unknown> | false;
  /** Answers some requests in the server's place. */
  script: Script | undefined;
  /** The `expires_in` of token responses: seconds, or anything else that a server may send; undefined leaves it out. */
  expiresIn: unknown;
  /** Whether users get a refresh token. */
  issuesRefreshTokens: boolean;
  /** Scope that the endpoint's 401 asks for. */
  challengeScope: string | undefined;
  /** The scope a token must have, or the endpoint answers 403. */
  neededScope: string | undefined;
  /** Tokens that the endpoint takes. */
  readonly accessTokens: Set<string>;
  /** Times a spent refresh token came again. */
  reused: number;
  count(method: string, path: string): number;
  tokenRequests(grant?: string): SeenRequest[];
  /** Logs a user in at the URL, and returns the parameters of the callback. */
  logIn(authUrl: string): Promise<URLSearchParams>;
  /** Makes every token so far worthless. */
  expireAccessTokens(): void;
}

interface Grant {
  readonly clientId: string;
  readonly scope: string;
  readonly challenge?: string;
}

const JSON_TYPE = { "content-type": "application/json" };

export async function startFakeAuthorizationServer(): Promise<FakeAuthorizationServer> {
  const codes = new Map<string, Grant>();
  const refreshTokens = new Map<string, Grant>();
  const spent = new Set<string>();
  const scopes = new Map<string, string>();
  let issued = 0;

  const http = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error) => outgoing.writeHead(500).end(String(error)));
  });
  const listening = await listenOnLoopback(http);
  const origin = `http://${listening.address}`;

  const fake: FakeAuthorizationServer = {
    origin,
    mcpUrl: new URL("/mcp", origin),
    requests: [],
    metadata: {},
    resource: {},
    script: undefined,
    expiresIn: 3600,
    issuesRefreshTokens: true,
    challengeScope: undefined,
    neededScope: undefined,
    accessTokens: new Set(),
    reused: 0,
    count: (method, path) =>
      fake.requests.filter((seen) => seen.method === method && seen.path === path).length,
    tokenRequests: (grant) =>
      fake.requests.filter(
        (seen) => seen.path === "/token" && (grant === undefined || seen.form.get("grant_type") === grant),
      ),
    async logIn(authUrl) {
      const response = await fetch(authUrl, { redirect: "manual" });
      return new URL(response.headers.get("location") ?? "about:blank").searchParams;
    },
    expireAccessTokens: () => fake.accessTokens.clear(),
    [Symbol.asyncDispose]: () => listening.close(),
  };

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen = await read(incoming);
    fake.requests.push(seen);
    const { status = 200, headers = {}, body } = (await fake.script?.(seen)) ?? route(seen);
    const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
    outgoing.writeHead(status, { ...JSON_TYPE, ...headers }).end(text);
  }

  function route(seen: SeenRequest): ScriptedAnswer {
    switch (seen.path) {
      case "/mcp":
        return endpoint(seen);
      case "/.well-known/oauth-protected-resource/mcp":
        return describeResource();
      case "/.well-known/oauth-authorization-server":
        return { body: describeServer() };
      case "/register":
        return {
          status: 201,
          body: { ...JSON.parse(seen.body), client_id: `client-${fake.count("POST", "/register")}` },
        };
      case "/authorize":
        return authorize(seen);
      case "/token":
        return token(seen);
      case "/revoke":
        fake.accessTokens.delete(seen.form.get("token") ?? "");
        refreshTokens.delete(seen.form.get("token") ?? "");
        return {};
      default:
        return { status: 404 };
    }
  }

  function endpoint({ headers }: SeenRequest): ScriptedAnswer {
    const [, given = ""] = /^(?:Bearer|DPoP) (.*)$/.exec(headers.authorization ?? "") ?? [];
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (!fake.accessTokens.has(given)) {
      const scope = fake.challengeScope === undefined ? "" : `, scope="${fake.challengeScope}"`;
      const field = fake.resource === false ? "Bearer realm=mcp" : `Bearer ${where}${scope}`;
      return { status: 401, headers: { "www-authenticate": field } };
    }
    const needed = fake.neededScope;
    if (needed !== undefined && !(scopes.get(given) ?? "").split(" ").includes(needed)) {
      const field = `Bearer error="insufficient_scope", scope="${needed}", ${where}`;
      return { status: 403, headers: { "www-authenticate": field } };
    }
    return { body: { ok: true } };
  }

  function describeResource(): ScriptedAnswer {
    if (fake.resource === false) return { status: 404 };
    return { body: { resource: fake.mcpUrl.href, authorization_servers: [origin], ...fake.resource } };
  }

  const describeServer = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    authorization_response_iss_parameter_supported: true,
    ...fake.metadata,
  });

  function authorize({ query }: SeenRequest): ScriptedAnswer {
    const code = random("code");
    const [clientId, scope, challenge] = ["client_id", "scope", "code_challenge"].map(
      (key) => query.get(key) ?? "",
    );
    codes.set(code, { clientId: clientId!, scope: scope!, challenge: challenge! });
    const back = new URL(query.get("redirect_uri") ?? "about:blank");
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    back.searchParams.set("iss", origin);
    return { status: 302, headers: { location: back.href } };
  }

  function token({ form, headers }: SeenRequest): ScriptedAnswer {
    const grantType = form.get("grant_type");
    if (grantType === "authorization_code") {
      const code = form.get("code") ?? "";
      const grant = codes.get(code);
      codes.delete(code);
      const hash = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      return grant === undefined || hash !== grant.challenge
        ? refuse("invalid_grant")
        : issue(grant, headers);
    }
    if (grantType === "refresh_token") {
      const given = form.get("refresh_token") ?? "";
      if (spent.has(given)) fake.reused++;
      const grant = refreshTokens.get(given);
      refreshTokens.delete(given);
      spent.add(given);
      return grant === undefined ? refuse("invalid_grant") : issue(grant, headers);
    }
    const scope = form.get("scope") ?? "";
    return issue({ clientId: form.get("client_id") ?? "", scope }, headers, false);
  }

  const refuse = (error: string): ScriptedAnswer => ({ status: 400, body: { error } });

  function issue(
    grant: Grant,
    headers: IncomingMessage["headers"],
    withRefresh = fake.issuesRefreshTokens,
  ): ScriptedAnswer {
    const accessToken = `access-${++issued}-${random("")}`;
    const refreshToken = random("refresh");
    fake.accessTokens.add(accessToken);
    scopes.set(accessToken, grant.scope);
    if (withRefresh) refreshTokens.set(refreshToken, grant);
    return {
      body: {
        access_token: accessToken,
        token_type: headers["dpop"] === undefined ? "Bearer" : "DPoP",
        ...(fake.expiresIn !== undefined && { expires_in: fake.expiresIn }),
        ...(withRefresh && { refresh_token: refreshToken }),
        ...(grant.scope !== "" && { scope: grant.scope }),
      },
    };
  }

  return fake;
}

const random = (prefix: string): string => `${prefix}-${randomBytes(12).toString("hex")}`;

async function read(incoming: IncomingMessage): Promise<SeenRequest> {
  const url = new URL(incoming.url ?? "/", "http://fake");
  let body = "";
  for await (const chunk of incoming) body += chunk;
  const { method = "GET", headers } = incoming;
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    body,
    form: new URLSearchParams(body),
  };
}
