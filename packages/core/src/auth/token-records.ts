/** The saved tokens of a server and a user, and their cache. */
import type { OAuthTokens } from "@modelcontextprotocol/client";
import type { Lease } from "@toolport/stores";
import { readLifetimeMs } from "../transports/http/credentials/checked-provider.js";
import { tokensKey } from "./credential-records.js";
import { type AuthorizationServer, readAuthorizationServer } from "./discover-authorization.js";
import { type OAuthClient, toSavedClient } from "./oauth-client.js";
import { nowOf, type OAuthContext } from "./oauth-context.js";

export interface TokenRecord {
  /** The only address to which the access token may be sent. */
  readonly serverUrl: string;
  /** The only server to which the refresh token may be sent. */
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly accessToken: string;
  /** To a DPoP key: each request needs a proof. */
  readonly isBound: boolean;
  readonly refreshToken?: string | undefined;
  /** The granted scopes; the requested ones if the response does not name them. */
  readonly scope?: string | undefined;
  readonly requestedScope?: string | undefined;
  /** Milliseconds since 1970. */
  readonly obtainedAt: number;
  /** Undefined: unknown, so the token is used until a 401. */
  readonly expiresAt?: number | undefined;
}

export interface TokenOrigin {
  readonly serverUrl: URL | string;
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly requestedScope: string | undefined;
  /** Scopes granted so far. */
  readonly grantedScope?: string | undefined;
  /** Kept if the response contains no new one. */
  readonly refreshToken?: string | undefined;
  readonly now: number;
}

export function toTokenRecord(tokens: OAuthTokens, origin: TokenOrigin): TokenRecord {
  const { now, requestedScope } = origin;
  const lifetimeMs = readLifetimeMs(tokens.expires_in);
  const refreshToken = tokens.refresh_token ?? origin.refreshToken;
  const scope = tokens.scope ?? origin.grantedScope ?? requestedScope;
  return {
    serverUrl: String(origin.serverUrl),
    at: origin.at,
    client: toSavedClient(origin.client),
    resource: origin.resource,
    accessToken: tokens.access_token,
    isBound: tokens.token_type.toLowerCase() === "dpop",
    obtainedAt: now,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(scope !== undefined && { scope }),
    ...(requestedScope !== undefined && { requestedScope }),
    ...(lifetimeMs !== undefined && { expiresAt: now + lifetimeMs }),
  };
}

/** Reads a saved record; undefined if it is invalid, or for another server or issuer. */
export function readTokenRecord(
  value: unknown,
  { serverUrl, issuer }: { serverUrl: URL | string; issuer: string | undefined },
): TokenRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as TokenRecord;
  const at = readAuthorizationServer(record.at);
  if (at === undefined || record.serverUrl !== String(serverUrl)) return undefined;
  if (issuer !== undefined && at.issuer !== issuer) return undefined;
  const isWhole =
    typeof record.accessToken === "string" &&
    typeof record.resource === "string" &&
    typeof record.client?.method === "string";
  return isWhole ? record : undefined;
}

/** Tokens are refreshed this long before they expire. */
const EARLY_MS = 60_000;

/** Whether the token expires soon. A token with a lifetime under two minutes is used for half of it. */
export function isExpiring({ expiresAt, obtainedAt }: TokenRecord, now: number): boolean {
  if (expiresAt === undefined) return false;
  return now >= expiresAt - Math.min(EARLY_MS, (expiresAt - obtainedAt) / 2);
}

export const isExpired = ({ expiresAt }: TokenRecord, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;

/** Tokens with the version of their record. */
export interface HeldTokens {
  readonly record: TokenRecord;
  readonly version: number;
}

/** After this time the cache is compared with the store in the background: another process may have logged out. */
const FRESH_MS = 10_000;

export class TokenCache {
  #held: HeldTokens | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The store did not save what is in memory. */
  #isUnsaved = false;
  #hasWarned = false;
  #isRefreshing = false;
  /** Incremented with every write and every `clear()`. */
  #changes = 0;

  readonly #context: OAuthContext;
  readonly #key: string;

  constructor(context: OAuthContext) {
    this.#context = context;
    this.#key = tokensKey(context);
  }

  /**
   * The current tokens. Only the first request waits for the store, also if there are no tokens: a server that needs some answers
   * 401, and the store is read again.
   */
  async current(): Promise<HeldTokens | undefined> {
    if (this.#readAt === Number.NEGATIVE_INFINITY) return this.read();
    const isOld = nowOf(this.#context) - this.#readAt >= FRESH_MS;
    if (isOld || this.#isUnsaved) this.#refreshInBackground();
    return this.#held;
  }

  /** Reads the tokens from the store. */
  async read(): Promise<HeldTokens | undefined> {
    if (this.#isUnsaved && this.#held !== undefined) return this.save(this.#held.record, this.#held.version);
    const before = this.#changes;
    const { held } = await this.#readSlot();
    this.#hasWarned = false;
    // A write that happened during the read is newer than its result.
    return before === this.#changes ? this.#keep(held) : this.#held;
  }

  /** Reads the store without a waiting caller, one read at a time. */
  #refreshInBackground(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    // Set before the read, so that a failing store is not read with every request.
    this.#readAt = nowOf(this.#context);
    this.read()
      .catch(() => this.#warnOnce())
      .finally(() => {
        this.#isRefreshing = false;
      });
  }

  /** Version of the stored record, valid or not; 0: no record. */
  async version(): Promise<number> {
    return (await this.#readSlot()).version;
  }

  /**
   * Saves tokens over the version they were made from. If another process has written meanwhile, returns its tokens, or
   * undefined if there are none.
   */
  async save(record: TokenRecord, over: number, lease?: Lease): Promise<HeldTokens | undefined> {
    const { store } = this.#context;
    const key = this.#key;
    try {
      let version = await store.put(key, record, { ifVersion: over, secret: true, lease });
      // The lease is lost, but the record has not changed: these tokens are still the newest.
      if (version === undefined && lease !== undefined)
        version = await store.put(key, record, { ifVersion: over, secret: true });
      this.#isUnsaved = false;
      if (version === undefined) return await this.read();
      this.#hasWarned = false;
      this.#changes++;
      return this.#keep({ record, version });
    } catch {
      // The old refresh token may be used up: keep the new tokens in memory until the store accepts them.
      this.#isUnsaved = true;
      this.#changes++;
      this.#warnOnce();
      return this.#keep({ record, version: over });
    }
  }

  /** Deletes these tokens, but no newer ones. */
  async forget({ version }: HeldTokens): Promise<void> {
    if (this.#held?.version === version) this.clear();
    await this.#context.store.delete(this.#key, { ifVersion: version });
  }

  /** Clears the copy in memory. */
  clear(): void {
    this.#changes++;
    this.#keep(undefined);
    this.#isUnsaved = false;
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  /** Version 0: no record. */
  async #readSlot(): Promise<{ version: number; held: HeldTokens | undefined }> {
    const { store, serverUrl, options } = this.#context;
    const found = await store.get(this.#key);
    if (found === undefined) return { version: 0, held: undefined };
    // An unsealed record may be forged: its tokens, or the address of its token endpoint, must not be used.
    const record = found.sealed
      ? readTokenRecord(found.value, { serverUrl, issuer: options.issuer })
      : undefined;
    return { version: found.version, held: record && { record, version: found.version } };
  }

  #keep(held: HeldTokens | undefined): HeldTokens | undefined {
    this.#held = held;
    this.#readAt = nowOf(this.#context);
    return held;
  }

  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#context.warn("The store failed: new tokens are kept in memory until it works again");
  }
}
