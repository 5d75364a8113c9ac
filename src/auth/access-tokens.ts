/** The token that the next request carries, and how it is followed by another when its end is near. */
import type { DpopSession } from "@modelcontextprotocol/client";
import type { Lease } from "../state/store.js";
import { authUnavailable, isClientError, tokenRefused } from "./auth-errors.js";
import { migrateLegacyCredentials, proofKeyKey, refreshLease, tokensKey } from "./credential-records.js";
import { openDpopSession } from "./dpop-session.js";
import { forgetRegistration, restoreClient } from "./oauth-client.js";
import { guardedFetchOf, isInteractive, nowOf, type OAuthContext, redirectUrlOf } from "./oauth-context.js";
import { obtainOnce, singleFlight } from "./obtain-once.js";
import { type HeldTokens, TokenCache } from "./token-cache.js";
import { isExpired, isExpiring, type TokenOrigin, toTokenRecord } from "./token-record.js";
import { requestTokens, requestTokensByGrant, type TokenResponse } from "./token-requests.js";

/** Refused tokens that are remembered. */
const MAX_REFUSED = 32;
/** So long they are not sent again. The trouble may have been the server's own, and the token may be good after all. */
const REFUSED_MS = 300_000;
/** Between two attempts to renew a token that is still good. */
const RETRY_MS = 5_000;

export class AccessTokens {
  readonly cache: TokenCache;
  readonly #context: OAuthContext;
  readonly #renewals = new Map<string, Promise<HeldTokens | undefined>>();
  readonly #refused = new Map<string, number>();
  /** Issued to us and never taken by the server: if one of these is refused, another will be too. */
  readonly #untried = new Set<string>();
  #dpop: Promise<DpopSession> | undefined;
  #lastRefused: string | undefined;
  #notBefore = 0;

  constructor(context: OAuthContext) {
    this.#context = context;
    const { store, serverUrl, options } = context;
    this.cache = new TokenCache({
      store,
      key: tokensKey(context),
      serverUrl,
      issuer: options.issuer,
      now: () => nowOf(context),
      warn: (message) => context.warn(message),
      migrate: () => migrateLegacyCredentials(context),
    });
  }

  /** The tokens to send, renewed if their end is near; undefined if there are none worth sending. */
  async usable(): Promise<HeldTokens | undefined> {
    let held = await this.cache.current();
    if (held !== undefined && this.isRefused(held)) held = await this.cache.read();
    if (held === undefined) return undefined;
    const now = nowOf(this.#context);
    const isSpent = this.isRefused(held) || isExpired(held.record, now);
    if (!isSpent && !isExpiring(held.record, now)) return held;
    if (!this.canRenew(held)) return isSpent ? undefined : held;
    if (!isSpent && now < this.#notBefore) return held;
    try {
      return await this.renew(held);
    } catch (error) {
      if (isSpent) throw error;
      // There is time left for another attempt, but not with every request.
      this.#notBefore = now + RETRY_MS;
      return held;
    }
  }

  /** Whether new tokens can be had without a user. */
  canRenew(held: HeldTokens): boolean {
    const { accessToken, refreshToken, client } = held.record;
    if (this.isRefused(held) && this.#untried.has(accessToken)) return false;
    if (restoreClient(client, this.#context.options) === undefined) return false;
    return !isInteractive(this.#context) || refreshToken !== undefined;
  }

  /** What the store has, if the server has not refused it and it is not the one in `used`. */
  async newer(used: HeldTokens | undefined): Promise<HeldTokens | undefined> {
    const held = await this.cache.read();
    if (held === undefined || this.isRefused(held)) return undefined;
    if (isExpired(held.record, nowOf(this.#context))) return undefined;
    return held.record.accessToken === used?.record.accessToken ? undefined : held;
  }

  /** New tokens in place of these; undefined if the authorization server wants a user for that. */
  renew(held: HeldTokens): Promise<HeldTokens | undefined> {
    return this.obtain(held, "", (lease) => this.#renewAlone(lease));
  }

  /** Runs once for a purpose, in whichever process is first; the others get what it got. */
  obtain(
    used: HeldTokens | undefined,
    purpose: string,
    request: (lease: Lease) => Promise<HeldTokens | undefined>,
  ): Promise<HeldTokens | undefined> {
    return singleFlight(this.#renewals, `${used?.record.accessToken ?? ""} ${purpose}`, async () => {
      const got = await obtainOnce<HeldTokens>({
        store: this.#context.store,
        lease: refreshLease(this.#context),
        watch: tokensKey(this.#context),
        find: () => this.newer(used),
        obtain: request,
      });
      if (got === "late")
        throw authUnavailable("Another process asks for a token and does not come to an end");
      return got;
    });
  }

  /** Keeps what was issued, unless somebody has put something newer there meanwhile. */
  async keep(
    answer: Extract<TokenResponse, { tokens: unknown }>,
    origin: Omit<TokenOrigin, "serverUrl" | "now">,
    { over, lease }: { over: number; lease: Lease },
  ): Promise<HeldTokens | undefined> {
    const { serverUrl } = this.#context;
    const record = toTokenRecord(answer.tokens, { ...origin, serverUrl, now: nowOf(this.#context) });
    this.#untried.add(record.accessToken);
    return this.cache.save(record, over, lease);
  }

  isRefused({ record }: HeldTokens): boolean {
    const at = this.#refused.get(record.accessToken);
    return at !== undefined && nowOf(this.#context) - at < REFUSED_MS;
  }

  /** The server does not take it: it is not sent again. */
  refuse(held: HeldTokens): void {
    const { accessToken } = held.record;
    this.#refused.set(accessToken, nowOf(this.#context));
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
    this.#lastRefused = accessToken;
  }

  /** Not good enough for a request, though not worthless. */
  markInsufficient(held: HeldTokens | undefined): void {
    this.#lastRefused = held?.record.accessToken ?? this.#lastRefused;
  }

  /** The server has taken it. */
  accept({ record }: HeldTokens): void {
    if (this.#untried.size > 0) this.#untried.delete(record.accessToken);
  }

  get lastRefused(): string | undefined {
    return this.#lastRefused;
  }

  dpop(): Promise<DpopSession> | undefined {
    if (this.#context.options.dpop !== true) return undefined;
    this.#dpop ??= openDpopSession(this.#context.store, proofKeyKey(this.#context)).catch(
      (error: unknown) => {
        this.#dpop = undefined;
        throw error;
      },
    );
    return this.#dpop;
  }

  clear(): void {
    this.cache.clear();
    this.#dpop = undefined;
    this.#lastRefused = undefined;
    this.#refused.clear();
    this.#untried.clear();
  }

  async #renewAlone(lease: Lease): Promise<HeldTokens | undefined> {
    const held = await this.cache.read();
    if (held === undefined) return undefined;
    const { record } = held;
    const client = restoreClient(record.client, this.#context.options);
    if (client === undefined) return undefined;
    const fetch = await guardedFetchOf(this.#context);
    const { at, resource, refreshToken, requestedScope, scope: grantedScope } = record;
    const common = { at, client, resource, fetch, dpop: await this.dpop() };
    const params = { grant_type: "refresh_token", refresh_token: refreshToken ?? "" };
    const asking = isInteractive(this.#context)
      ? requestTokens({ ...common, params })
      : requestTokensByGrant({ ...common, context: this.#context, scope: requestedScope });
    const answer = await asking.catch(async (error: unknown) => {
      // Whoever was held up for longer than the lease may find that another was quicker.
      const newer = await this.newer(held);
      if (newer !== undefined) return newer;
      throw error;
    });
    if ("record" in answer) return answer;
    if ("refused" in answer) return this.#afterRefusal(held, answer.refused);
    const origin = { at, client, resource, requestedScope, grantedScope, refreshToken };
    return this.keep(answer, origin, { over: held.version, lease });
  }

  /** Somebody else may have spent the refresh token and saved what came of it. Otherwise it is worth nothing now. */
  async #afterRefusal(held: HeldTokens, reason: string): Promise<HeldTokens | undefined> {
    const there = await this.cache.read();
    if (there !== undefined && there.version !== held.version) return there;
    const { client, at } = held.record;
    const isOurs = isInteractive(this.#context) && !(isClientError(reason) && client.source === "configured");
    if (!isOurs) throw tokenRefused(reason);
    const redirectUrl = redirectUrlOf(this.#context);
    if (isClientError(reason) && redirectUrl !== undefined)
      await forgetRegistration(this.#context, { issuer: at.issuer, redirectUrl, clientId: client.id });
    await this.cache.forget(held);
    return undefined;
  }
}
