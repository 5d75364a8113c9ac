/** What is kept of an authorization server beside its tokens, so that they never go to another. */
import type { AuthorizationInfo } from "./discover-authorization.js";

export interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string | undefined;
  /** How clients may authenticate; empty: it does not say. */
  readonly authMethods: readonly string[];
}

export function toAuthorizationServer({ issuer, metadata }: AuthorizationInfo): AuthorizationServer {
  // The SDK reads it of OAuth's metadata, and lets it pass in OpenID's.
  const revocation: unknown = metadata && Reflect.get(metadata, "revocation_endpoint");
  return {
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL("/token", issuer).href,
    ...(typeof revocation === "string" && { revocationEndpoint: revocation }),
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? [],
  };
}

/** Reads a saved one back; undefined if it is none. */
export function readAuthorizationServer(value: unknown): AuthorizationServer | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { issuer, tokenEndpoint, authMethods } = value as Partial<AuthorizationServer>;
  const isWhole =
    typeof issuer === "string" && typeof tokenEndpoint === "string" && Array.isArray(authMethods);
  return isWhole ? (value as AuthorizationServer) : undefined;
}
