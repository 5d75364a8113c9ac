/** A gateway's authenticator with a real key server and a clock that the test advances. */
import {
  type GatewayAuth,
  type GatewayUserOptions,
  type Identity,
  isRejection,
  type Rejection,
} from "../../packages/gateway/src/auth/auth-options.js";
import { type Authenticator, createAuthenticator } from "../../packages/gateway/src/auth/authenticator.js";
import { type KeyServer, type SigningKey, startKeyServer } from "./key-server.js";

export const URL_OF_GATEWAY = "https://tools.example.com/mcp";
export const METADATA_URL = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";

export interface AuthBench {
  readonly server: KeyServer;
  /** Milliseconds since 1970. */
  time: number;
  readonly warnings: string[];
  /** The same time as in tokens. */
  seconds(): number;
  /** Valid claims, with changes. */
  claims(more?: Record<string, unknown>): Record<string, unknown>;
  create(auth?: GatewayAuth | false, options?: GatewayUserOptions): Authenticator;
}

export async function startAuthBench(keys: readonly SigningKey[]): Promise<AuthBench> {
  const server = await startKeyServer(keys);
  const warnings: string[] = [];
  const bench: AuthBench = {
    server,
    time: Date.UTC(2026, 10, 16),
    warnings,
    seconds: () => Math.floor(bench.time / 1_000),
    claims: (more = {}) => ({
      iss: server.issuer,
      sub: "ada",
      aud: URL_OF_GATEWAY,
      exp: bench.seconds() + 3_600,
      ...more,
    }),
    create: (auth = {}, options = {}) =>
      createAuthenticator(
        { url: URL_OF_GATEWAY, auth: auth && { issuer: server.issuer, ...auth }, ...options },
        { warn: (message) => warnings.push(message), now: () => bench.time },
      ),
  };
  return bench;
}

type Outcome = Identity | Rejection | Promise<Identity | Rejection>;

/** Sends a request with this credential. */
export const present = (
  authenticator: Authenticator,
  token: string | undefined,
  scheme = "Bearer",
): Outcome =>
  authenticator.authenticate(
    new Headers(token === undefined ? {} : { authorization: `${scheme} ${token}` }),
    () => new Request("http://127.0.0.1/mcp", { method: "POST" }),
  );

export async function accepted(outcome: Outcome): Promise<Identity> {
  const settled = await outcome;
  if (isRejection(settled)) throw new Error(settled.body);
  return settled;
}

export async function rejected(outcome: Outcome): Promise<Rejection> {
  const settled = await outcome;
  if (!isRejection(settled)) throw new Error("The request was accepted");
  return settled;
}
