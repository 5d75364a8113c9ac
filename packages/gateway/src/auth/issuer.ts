/**
 * The configured issuer: its metadata and its public keys, read when they are needed. Keys are fetched when an unknown one is named, one
 * request at a time, and kept while the key server is away.
 */

import { isRecord, loadOnce, parseJson } from "@toolport/base";
import { canonicalHost, isLoopbackHost } from "@toolport/http";
import { createGuardedFetch } from "@toolport/http/guarded-fetch";
import { createFetchClient, type HttpClient } from "@toolport/http/wire-client";
import type { CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters } from "jose";
import type { AuthSettings } from "./auth-options.js";

/** The metadata that a gateway uses: RFC 8414, or OpenID Connect Discovery. */
export interface IssuerMetadata {
  readonly jwks_uri?: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly code_challenge_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
}

export type Issuer = ReturnType<typeof createIssuer>;

/** How long metadata is used. */
const METADATA_MS = 600_000;

export function createIssuer(
  name: string,
  { jwks }: Pick<AuthSettings, "jwks">,
  { fetchJson, ...context }: IssuerContext & { readonly fetchJson: FetchJson },
) {
  let known: { readonly at: number; readonly value: Promise<IssuerMetadata> } | undefined;
  /** @throws Error if the issuer cannot be reached, or if the metadata is of another issuer */
  const metadata = (): Promise<IssuerMetadata> => {
    const now = context.now();
    if (known !== undefined && now - known.at < METADATA_MS) return known.value;
    const value = readMetadata(name, fetchJson);
    const entry = { at: now, value };
    known = entry;
    // A failure is not remembered.
    value.catch(() => {
      if (known === entry) known = undefined;
    });
    return value;
  };
  const read = async (): Promise<JSONWebKeySet> => {
    const url = typeof jwks === "string" ? jwks : (await metadata()).jwks_uri;
    if (url === undefined) throw new Error("the metadata of the issuer names no `jwks_uri`; set `auth.jwks`");
    const { status, body } = await fetchJson(new URL(url));
    if (status !== 200 || !isRecord(body) || !Array.isArray(body["keys"]))
      throw new Error(`${new URL(url).host} sent no key set (HTTP ${status})`);
    return { keys: body["keys"] };
  };
  const isFixed = typeof jwks === "object";
  return {
    name,
    fetchJson,
    metadata,
    keys: isFixed ? fixedKeys(jwks as JSONWebKeySet) : remoteKeys(read, context),
  };
}

async function readMetadata(issuer: string, fetchJson: FetchJson): Promise<IssuerMetadata> {
  const statuses: number[] = [];
  for (const url of metadataUrls(issuer)) {
    const { status, body } = await fetchJson(url);
    if (status === 200 && isRecord(body)) {
      if (body["issuer"] === issuer) return body as IssuerMetadata;
      throw new Error(`the metadata at ${url.host} belongs to another issuer than \`auth.issuer\``);
    }
    statuses.push(status);
  }
  throw new Error(`${new URL(issuer).host} has no metadata (HTTP ${statuses.join(", ")})`);
}

/** OpenID Connect first: most issuers have it. */
function metadataUrls(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/+$/, "");
  const urls = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  return [...new Set(urls)].map((url) => new URL(url));
}

/** Sends a request and returns the status and the parsed body (undefined if it is not JSON). */
type FetchJson = (url: URL, init?: RequestInit) => Promise<{ status: number; body: unknown }>;

/** The network client, with the proxy settings of the port. Undefined: the `fetch` of the runtime. */
export type OpenClient = (() => Promise<HttpClient>) | undefined;

const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 5_000;

/** @param signal aborts every request */
export function createFetchJson(http: OpenClient, signal: AbortSignal): FetchJson {
  let client: Promise<HttpClient> | undefined;
  return async (url, init = {}) => {
    // The operator configured the issuer, and its metadata names the other addresses: private hosts are allowed, plain http is not.
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(canonicalHost(url))))
      throw new Error(`${url.protocol}//${url.host} is neither https nor on this machine`);
    client ??= http?.() ?? Promise.resolve(createFetchClient());
    const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
    const fetch = createGuardedFetch(await client, { serverUrl: url, ...limits });
    const headers = { accept: "application/json", ...(init.headers as Record<string, string>) };
    const response = await fetch(url, { ...init, headers, redirect: "manual", signal });
    return { status: response.status, body: parseJson(await response.text()) };
  };
}

/** Finds the key of a token. @throws KeysUnavailable, or an error of `jose` if the issuer has no such key */
export type KeySource = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** The key of a token is not known, and the key server cannot be asked now. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
  /** @param retryAfterMs when it can be asked again */
  constructor(readonly retryAfterMs: number) {
    super("The keys of the issuer cannot be read now");
  }
}

interface IssuerContext {
  readonly now: () => number;
  readonly warn: (message: string) => void;
}

/** At most one request in this time, however many unknown keys are named. */
const COOLDOWN_MS = 5_000;
/** Keys that are older are read again, while the old ones serve on: the issuer may have withdrawn one. */
const FRESH_MS = 600_000;

/** Keys that never change. */
function fixedKeys(keys: JSONWebKeySet): KeySource {
  const find = loadOnce(() => toSource(keys));
  return async (header, token) => (await find())(header, token);
}

/** Keys of a key server. */
function remoteKeys(read: () => Promise<JSONWebKeySet>, { now, warn }: IssuerContext): KeySource {
  let known: KeySource | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    triedAt = now();
    try {
      known = await toSource(await read());
      readAt = now();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) {
        const effect = known === undefined ? "Requests get 503" : "The known keys stay in use";
        warn(`The keys of the issuer cannot be read: ${messageOf(error)}. ${effect} until it responds.`);
      }
      hasFailed = true;
    }
  }

  const mayAsk = () => now() - triedAt >= COOLDOWN_MS;
  const ask = (): Promise<void> => {
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const unavailable = () => new KeysUnavailable(Math.max(0, triedAt + COOLDOWN_MS - now()));

  return async (header, token) => {
    const old = known;
    if (old !== undefined) {
      if (now() - readAt >= FRESH_MS && mayAsk()) void ask();
      try {
        return await old(header, token);
      } catch (error) {
        if (!isUnknownKey(error)) throw error;
      }
    }
    if (reading !== undefined || mayAsk()) await ask();
    if (known === undefined || (known === old && hasFailed)) throw unavailable();
    return known(header, token);
  };
}

const isUnknownKey = (error: unknown): boolean =>
  isRecord(error) && error["code"] === "ERR_JWKS_NO_MATCHING_KEY";

async function toSource(keys: JSONWebKeySet): Promise<KeySource> {
  const { createLocalJWKSet } = await import("jose");
  return createLocalJWKSet(keys);
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : "unknown error";
