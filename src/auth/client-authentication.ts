/** Who this application is at an authorization server, and how it proves that. */
import type { AddClientAuthentication } from "@modelcontextprotocol/client";
import type { OAuthOptions, PrivateKeySource } from "../config/oauth-options.js";

export type ClientAuthentication = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client of an authorization server. */
export interface OAuthClient {
  /** Undefined where an assertion says it all. */
  readonly id: string | undefined;
  readonly secret?: string | undefined;
  readonly privateKey?: PrivateKeySource | undefined;
  readonly algorithm?: string | undefined;
  readonly method: ClientAuthentication;
  /** Configured by the user, described by a document of its own, or registered by us. */
  readonly source: "configured" | "document" | "registered";
}

/** As it is saved beside its tokens: what the user configured stays with the user. */
export function toSavedClient({ id, secret, method, source }: OAuthClient): OAuthClient {
  return { id, method, source, ...(source === "registered" && secret !== undefined && { secret }) };
}

/** A saved client with the secrets of this moment; undefined if the user now configures another. */
export function reviveClient(saved: OAuthClient, options: OAuthOptions): OAuthClient | undefined {
  if (saved.source !== "configured") return saved;
  if (saved.id !== options.clientId) return undefined;
  const { clientSecret, privateKey, algorithm } = options;
  return { ...saved, secret: clientSecret, privateKey, algorithm };
}

/** The client that the user configured. */
export async function configuredClient(
  { clientId, clientSecret, privateKey, algorithm }: OAuthOptions,
  authMethods: readonly string[],
): Promise<OAuthClient> {
  const source = "configured";
  if (privateKey !== undefined)
    return { id: clientId, privateKey, algorithm, method: "private_key_jwt", source };
  const method = await pickMethod({ client_id: clientId ?? "", client_secret: clientSecret }, authMethods);
  return { id: clientId, secret: clientSecret, method, source };
}

interface ClientFields {
  client_id: string;
  client_secret?: string | undefined;
  token_endpoint_auth_method?: string | undefined;
}

/** The way to authenticate that both sides know. */
export async function pickMethod(
  client: ClientFields,
  authMethods: readonly string[],
): Promise<"none" | "client_secret_basic" | "client_secret_post"> {
  const { selectClientAuthMethod } = await import("@modelcontextprotocol/client");
  const method = selectClientAuthMethod(client as { client_id: string }, [...authMethods]);
  return client.client_secret === undefined ? "none" : method;
}

/** What the SDK's token requests call to authenticate the client. */
export async function authenticateAs(client: OAuthClient): Promise<AddClientAuthentication> {
  const { id, secret = "", method, privateKey, algorithm = "ES256" } = client;
  if (id === undefined) return () => {};
  if (method === "private_key_jwt") {
    const { createPrivateKeyJwtAuth } = await import("@modelcontextprotocol/client");
    // The SDK takes a mutable record, and does not change it.
    const key = privateKey as string | Record<string, unknown>;
    return createPrivateKeyJwtAuth({ issuer: id, subject: id, privateKey: key, alg: algorithm });
  }
  return (headers, params) => {
    if (method === "client_secret_basic") {
      headers.set("authorization", `Basic ${btoa(`${formEncode(id)}:${formEncode(secret)}`)}`);
      return;
    }
    params.set("client_id", id);
    if (method === "client_secret_post") params.set("client_secret", secret);
  };
}

/** RFC 6749 §2.3.1 wants both parts in this form; the SDK sends them as they are. */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
