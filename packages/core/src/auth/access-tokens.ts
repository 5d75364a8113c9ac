/** Supplies the access token for the next request, and renews it shortly before it expires. */

import type { webcrypto } from "node:crypto";
import type { DpopKeyPair, DpopSession } from "@modelcontextprotocol/client";
import { BoundedMap, loadOnce, singleFlight } from "@toolport/base";
import type { Lease, Store } from "@toolport/stores";
import { proofKeyKey, refreshLease, tokensKey } from "./credential-records.js";
import { forgetRegistration, restoreClient } from "./oauth-client.js";
import {
  authFailed,
  authUnavailable,
  guardedFetchOf,
  isClientError,
  isInteractive,
  nowOf,
  type OAuthContext,
  redirectUrlOf,
  tokenRefused,
} from "./oauth-context.js";
import { obtainOnce } from "./obtain-once.js";
import {
  type HeldTokens,
  isExpired,
  isExpiring,
  TokenCache,
  type TokenOrigin,
  toTokenRecord,
} from "./token-records.js";
import { requestTokens, requestTokensByGrant, type TokenResponse } from "./token-requests.js";

/** Maximum number of rejected tokens to remember. */
const MAX_REFUSED = 32;
/** A rejected token is not sent again for this long. After that it is tried once more: the fault may have been the server's. */
const REFUSED_MS = 300_000;
/** Minimum time between two attempts to renew a token that is still valid. */
const RETRY_MS = 5_000;
/** Maximum number of consecutive logins whose tokens the server rejected. */
const MAX_LOGINS = 3;
/** Maximum number of logins for more scopes within {@link WINDOW_MS}. Successful requests in between do not reset it. */
const MAX_STEP_UPS = 3;
const WINDOW_MS = 600_000;

export class AccessTokens {
  readonly cache: TokenCache;
  readonly #renewals = new Map<string, Promise<HeldTokens | undefined>>();
  readonly #refused = new BoundedMap<string, number>(MAX_REFUSED);
  /** Tokens that were issued but never accepted by the server. If one of these is rejected, a renewed one would be too. */
  readonly #untried = new Set<string>();
  readonly #openDpop = loadOnce(() => openDpopSession(this.context.store, proofKeyKey(this.context)));
  #lastRefused: string | undefined;
  #notBefore = 0;
  /** The rejected tokens that made logins necessary since the server last accepted one. */
  readonly #reasons = new Set<string>();
  #stepUps: readonly { readonly scope: string; readonly at: number }[] = [];

  constructor(readonly context: OAuthContext) {
    this.cache = new TokenCache(context);
  }

  /** The tokens to send, renewed if they expire soon; undefined if there are none to send. */
  async usable(): Promise<HeldTokens | undefined> {
    let held = await this.cache.current();
    if (held !== undefined && this.isRefused(held)) held = await this.cache.read();
    if (held === undefined) return undefined;
    const now = nowOf(this.context);
    const isSpent = this.isRefused(held) || isExpired(held.record, now);
    if (!isSpent && !isExpiring(held.record, now)) return held;
    if (!this.canRenew(held)) return isSpent ? undefined : held;
    if (!isSpent && now < this.#notBefore) return held;
    try {
      return await this.renew(held);
    } catch (error) {
      if (isSpent) throw error;
      // The token is still valid: try again later, but not with every request.
      this.#notBefore = now + RETRY_MS;
      return held;
    }
  }

  /** Whether new tokens can be obtained without a user. */
  canRenew(held: HeldTokens): boolean {
    const { accessToken, refreshToken, client } = held.record;
    if (this.isRefused(held) && this.#untried.has(accessToken)) return false;
    if (restoreClient(client, this.context.options) === undefined) return false;
    return !isInteractive(this.context) || refreshToken !== undefined;
  }

  /** The stored tokens, unless they are expired, rejected by the server, or the same as `used`. */
  async newer(used: HeldTokens | undefined): Promise<HeldTokens | undefined> {
    const held = await this.cache.read();
    if (held === undefined || this.isRefused(held)) return undefined;
    if (isExpired(held.record, nowOf(this.context))) return undefined;
    return held.record.accessToken === used?.record.accessToken ? undefined : held;
  }

  /** Replaces these tokens; undefined if the authorization server requires a login. */
  renew(held: HeldTokens): Promise<HeldTokens | undefined> {
    return this.obtain(held, "", (lease) => this.#renewAlone(lease));
  }

  /** Runs `request` once per purpose, in the first process that asks; all other callers get its result. */
  obtain(
    used: HeldTokens | undefined,
    purpose: string,
    request: (lease: Lease) => Promise<HeldTokens | undefined>,
  ): Promise<HeldTokens | undefined> {
    return singleFlight(this.#renewals, `${used?.record.accessToken ?? ""} ${purpose}`, async () => {
      const got = await obtainOnce<HeldTokens>({
        store: this.context.store,
        lease: refreshLease(this.context),
        watch: tokensKey(this.context),
        find: () => this.newer(used),
        obtain: request,
      });
      if (got === "late")
        throw authUnavailable("Another process is requesting a token and has not finished in time");
      return got;
    });
  }

  /** Saves issued tokens, unless another process has saved newer ones since version `over`. */
  async keep(
    answer: Extract<TokenResponse, { tokens: unknown }>,
    origin: Omit<TokenOrigin, "serverUrl" | "now">,
    { over, lease }: { over: number; lease: Lease },
  ): Promise<HeldTokens | undefined> {
    const { serverUrl } = this.context;
    const record = toTokenRecord(answer.tokens, { ...origin, serverUrl, now: nowOf(this.context) });
    this.#untried.add(record.accessToken);
    return this.cache.save(record, over, lease);
  }

  isRefused({ record }: HeldTokens): boolean {
    const at = this.#refused.get(record.accessToken);
    return at !== undefined && nowOf(this.context) - at < REFUSED_MS;
  }

  /** The server rejected this token: do not send it again for {@link REFUSED_MS}. */
  refuse(held: HeldTokens): void {
    const { accessToken } = held.record;
    this.#refused.set(accessToken, nowOf(this.context));
    this.#lastRefused = accessToken;
  }

  /** The token lacks a scope that a request needs. It stays usable for other requests. */
  markInsufficient(held: HeldTokens | undefined): void {
    this.#lastRefused = held?.record.accessToken ?? this.#lastRefused;
  }

  /** The server accepted this token. */
  accept({ record }: HeldTokens): void {
    if (this.#untried.size > 0) this.#untried.delete(record.accessToken);
    if (this.#reasons.size > 0) this.#reasons.clear();
  }

  /** False if users were asked to log in too often, over all calls to the server. Unfinished logins do not count. */
  allowsLogin(): boolean {
    const reason = this.#lastRefused ?? "";
    if (!this.#reasons.has(reason) && this.#reasons.size >= MAX_LOGINS) return false;
    this.#reasons.add(reason);
    return true;
  }

  /** The same for logins for more scopes. */
  allowsStepUp(scope: string): boolean {
    const now = nowOf(this.context);
    const recent = this.#stepUps.filter(({ at }) => at > now - WINDOW_MS);
    const isKnown = recent.some((stepUp) => stepUp.scope === scope);
    const isAllowed = isKnown || recent.length < MAX_STEP_UPS;
    this.#stepUps = isKnown || !isAllowed ? recent : [...recent, { scope, at: now }];
    return isAllowed;
  }

  /** Whether the store has other tokens than the last rejected ones, so that another attempt makes sense. */
  async hasNew(): Promise<boolean> {
    const held = await this.cache.read();
    return held !== undefined && !this.isRefused(held) && held.record.accessToken !== this.#lastRefused;
  }

  dpop(): Promise<DpopSession> | undefined {
    return this.context.options.dpop === true ? this.#openDpop() : undefined;
  }

  /** Called after a logout. */
  clear(): void {
    this.cache.clear();
    this.#openDpop.current = undefined;
    this.#lastRefused = undefined;
    this.#refused.clear();
    this.#untried.clear();
    this.#reasons.clear();
    this.#stepUps = [];
  }

  async #renewAlone(lease: Lease): Promise<HeldTokens | undefined> {
    const held = await this.cache.read();
    if (held === undefined) return undefined;
    const { record } = held;
    const client = restoreClient(record.client, this.context.options);
    if (client === undefined) return undefined;
    const fetch = await guardedFetchOf(this.context);
    const { at, resource, refreshToken, requestedScope, scope: grantedScope } = record;
    const common = { at, client, resource, fetch, dpop: await this.dpop() };
    const params = { grant_type: "refresh_token", refresh_token: refreshToken ?? "" };
    const asking = isInteractive(this.context)
      ? requestTokens({ ...common, params })
      : requestTokensByGrant({ ...common, context: this.context, scope: requestedScope });
    const answer = await asking.catch(async (error: unknown) => {
      // If this process was suspended for longer than the lease, another process may have renewed the tokens already.
      const newer = await this.newer(held);
      if (newer !== undefined) return newer;
      throw error;
    });
    if ("record" in answer) return answer;
    if ("refused" in answer) return this.#afterRefusal(held, answer.refused);
    const origin = { at, client, resource, requestedScope, grantedScope, refreshToken };
    return this.keep(answer, origin, { over: held.version, lease });
  }

  /** Another process may have used the refresh token and saved the result. Otherwise these tokens are no longer usable. */
  async #afterRefusal(held: HeldTokens, reason: string): Promise<HeldTokens | undefined> {
    const there = await this.cache.read();
    if (there !== undefined && there.version !== held.version) return there;
    const { client, at } = held.record;
    const isOurs = isInteractive(this.context) && !(isClientError(reason) && client.source === "configured");
    if (!isOurs) throw tokenRefused(reason);
    const redirectUrl = redirectUrlOf(this.context);
    if (isClientError(reason) && redirectUrl !== undefined)
      await forgetRegistration(this.context, { issuer: at.issuer, redirectUrl, clientId: client.id });
    await this.cache.forget(held);
    return undefined;
  }
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };

/** Opens the SDK's DPoP session with the key saved under `storeKey`. Creates the key if it is missing. */
export async function openDpopSession(store: Store, storeKey: string): Promise<DpopSession> {
  const { DpopSession } = await import("@modelcontextprotocol/client");
  const saved = (await readKey(store, storeKey)) ?? (await makeKey(store, storeKey));
  return DpopSession.create({ keyPair: await toKeyPair(saved) });
}

async function readKey(store: Store, storeKey: string): Promise<webcrypto.JsonWebKey | undefined> {
  const found = await store.get(storeKey);
  return found?.sealed === true ? (found.value as webcrypto.JsonWebKey) : undefined;
}

async function makeKey(store: Store, storeKey: string): Promise<webcrypto.JsonWebKey> {
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const made = await crypto.subtle.exportKey("jwk", pair.privateKey);
  await store.put(storeKey, made, { ifVersion: 0, secret: true });
  // Another process may have saved a key first; use that one.
  const kept = await readKey(store, storeKey);
  if (kept === undefined) throw authFailed("The DPoP key could not be saved", "Check the store");
  return kept;
}

async function toKeyPair(jwk: webcrypto.JsonWebKey): Promise<DpopKeyPair> {
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as DpopKeyPair["publicJwk"];
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]),
    crypto.subtle.importKey("jwk", { kty, crv, x, y }, ALGORITHM, true, ["verify"]),
  ]);
  // RFC 7638: the members sorted by name.
  const thumbprint = base64Url(await sha256(JSON.stringify({ crv, kty, x, y })));
  return { privateKey, publicKey, publicJwk, thumbprint, alg: "ES256" };
}

export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

export const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
