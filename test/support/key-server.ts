/** An issuer of signed tokens with a real key server: it counts requests, can be away, and can hold its answers. */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { listenOnLoopback } from "../../packages/testing/src/serve-connection.js";

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly jwk: JWK;
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
}

export async function createSigningKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
  return {
    kid,
    alg,
    jwk,
    sign: (claims, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg, kid, ...header })
        // Signs whatever extension the header calls critical.
        .sign(privateKey, { crit: Object.fromEntries(Object.keys(header).map((name) => [name, true])) }),
  };
}

export interface KeyServer extends AsyncDisposable {
  readonly issuer: string;
  readonly keysUrl: string;
  /** May be changed at any time. */
  keys: JWK[];
  /** Replaces every answer. */
  failure: number | "html" | "drop" | undefined;
  /** Answers wait for it. */
  hold: Promise<void> | undefined;
  /** Overwrites fields of the metadata. */
  metadata: Record<string, unknown>;
  /** The answer of the token endpoint. */
  tokenAnswer: { readonly status: number; readonly body: unknown };
  /** Bodies and credentials of requests to the token endpoint. */
  readonly tokenRequests: { readonly body: URLSearchParams; readonly authorization: string | undefined }[];
  /** Paths of all requests. */
  readonly requests: string[];
  /** The most requests that were open at once. */
  readonly mostOpen: number;
  count(path: string): number;
}

export async function startKeyServer(keys: readonly SigningKey[]): Promise<KeyServer> {
  const requests: string[] = [];
  let open = 0;
  let mostOpen = 0;
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    mostOpen = Math.max(mostOpen, ++open);
    response.on("close", () => open--);
    await bench.hold;
    const { failure } = bench;
    if (failure === "drop") return void request.socket.destroy();
    if (typeof failure === "number") return void response.writeHead(failure).end();
    if (failure === "html") return void response.end("<html>busy</html>");
    response.setHeader("content-type", "application/json");
    if (path === "/token") {
      const body = new URLSearchParams(await text(request));
      bench.tokenRequests.push({ body, authorization: request.headers.authorization });
      response.writeHead(bench.tokenAnswer.status).end(JSON.stringify(bench.tokenAnswer.body));
    } else if (path === "/keys") response.end(JSON.stringify({ keys: bench.keys }));
    else if (path === "/.well-known/openid-configuration")
      response.end(
        JSON.stringify({
          issuer,
          jwks_uri: bench.keysUrl,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          ...bench.metadata,
        }),
      );
    else response.writeHead(404).end();
  });
  server.keepAliveTimeout = 0;
  const listening = await listenOnLoopback(server);
  const issuer = `http://${listening.address}`;
  const bench: KeyServer = {
    issuer,
    keysUrl: `${issuer}/keys`,
    keys: keys.map(({ jwk }) => jwk),
    failure: undefined,
    hold: undefined,
    metadata: {},
    tokenAnswer: { status: 400, body: { error: "invalid_grant" } },
    tokenRequests: [],
    requests,
    get mostOpen() {
      return mostOpen;
    },
    count: (path) => requests.filter((each) => each === path).length,
    [Symbol.asyncDispose]: () => listening.close(),
  };
  return bench;
}
