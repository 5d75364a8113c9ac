/** Finds out who sent a request: by an access token of the issuer, by the user's own check, or by one token. */
import { hash, timingSafeEqual } from "node:crypto";
import { BoundedMap, singleFlight } from "@toolport/base";
import {
  type AuthSettings,
  type GatewayAddresses,
  type GatewayUserOptions,
  type Identity,
  isMetadataPath,
  type Rejection,
  readAuthOptions,
  type VerifiedUser,
} from "./auth-options.js";
import {
  createFetchJson,
  createIssuer,
  type Issuer,
  KeysUnavailable,
  messageOf,
  type OpenClient,
} from "./issuer.js";
import { InvalidToken, verifyJwt } from "./verify-jwt.js";

/** What an authenticator needs of its surroundings. */
export interface AuthContext {
  /** Reports a problem to the operator. Never contains a token. */
  readonly warn: (message: string) => void;
  /** The network client for requests to the issuer. @default the `fetch` of the runtime */
  readonly http?: OpenClient;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** The headers of a request, of Node or of `fetch`. */
export interface HeaderReader {
  get(name: string): string | null | undefined;
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

type Outcome = Identity | Rejection;
/**
 * Who sent a request. Returns no promise if the token was verified before, or if there is nothing to verify. Never rejects.
 *
 * @param request creates the request for `auth.verify`; called only if it is needed
 */
type Authenticate = (headers: HeaderReader, request: () => Request) => Outcome | Promise<Outcome>;

const MAX_TOKEN_LENGTH = 16_384;
/** When to ask again after an own check failed. */
const RETRY_MS = 1_000;

/**
 * Creates the check of requests over HTTP.
 *
 * @throws ConfigError if an option is wrong, or if there is no `auth`
 * @example
 * ```ts
 * const authenticator = createAuthenticator({ auth: { issuer }, url }, { warn });
 * const outcome = await authenticator.authenticate(request.headers, () => request);
 * if (isRejection(outcome)) return new Response(outcome.body, outcome);
 * ```
 */
export function createAuthenticator(options: GatewayUserOptions, context: AuthContext) {
  const settings = readAuthOptions(options);
  const { addresses, scopes, issuer: name } = settings;
  const closed = new AbortController();
  const { warn, now = Date.now } = context;
  const fetchJson = createFetchJson(context.http, closed.signal);
  const issuer = name === undefined ? undefined : createIssuer(name, settings, { fetchJson, now, warn });
  const parts: CheckParts = { settings, issuer, now, warn, challenges: createChallenges(settings) };
  const document = addresses && protectedResourceMetadata(addresses, { issuer: name, scopes });
  return {
    settings,
    /** For the login of the connect page; undefined without `auth.issuer`. */
    issuer,
    authenticate: CHECKS[settings.mode](parts),
    /** The metadata document (JSON) if the path is that of RFC 9728; else undefined. Answer GET with it, from any origin. */
    metadata: (path: string): string | undefined =>
      addresses !== undefined && isMetadataPath(path, addresses) ? document : undefined,
    /** Aborts open requests to the issuer. */
    close: (): void => closed.abort(),
  };
}

interface CheckParts {
  readonly settings: AuthSettings;
  readonly issuer: Issuer | undefined;
  readonly now: () => number;
  readonly warn: (message: string) => void;
  readonly challenges: ReturnType<typeof createChallenges>;
}

const CHECKS: Readonly<Record<AuthSettings["mode"], (parts: CheckParts) => Authenticate>> = {
  off: () => () => LOCAL_USER,
  token: checkToken,
  verify: checkByUser,
  jwt: checkJwt,
};

const LOCAL_USER: Identity = { principal: undefined, scopes: [] };

/** Two headers are joined by a comma, and match no longer. */
const bearerOf = (headers: HeaderReader): string | undefined =>
  /^bearer +([!-+\--~]+) *$/i.exec(headers.get("authorization") ?? "")?.[1];

function checkToken({ settings, challenges }: CheckParts): Authenticate {
  const digest = (text: string) => hash("sha256", text, "buffer");
  const expected = digest(settings.token ?? "");
  const wrong = challenges.invalid("The token is not the token of this gateway");
  return (headers) => {
    const token = bearerOf(headers);
    if (token === undefined) return challenges.missing;
    // Hashes have equal length, so the comparison takes constant time.
    return timingSafeEqual(digest(token), expected) ? LOCAL_USER : wrong;
  };
}

function checkJwt({ settings, issuer, now, warn, challenges }: CheckParts): Authenticate {
  const { audiences, algorithms, principal } = settings;
  const verified = new VerifiedTokens(now);
  const checks = new Map<string, Promise<Outcome>>();
  if (issuer === undefined) return () => challenges.missing;
  const rules = { issuer: issuer.name, audiences, algorithms, keys: issuer.keys, now };

  async function check(token: string, key: string): Promise<Outcome> {
    try {
      const claims = await verifyJwt(token, rules);
      const user = principal(claims);
      if (user === undefined) return challenges.forbidden;
      if (typeof user !== "string" || user === "") throw new Error("`principal` returned no text");
      const { scopes, expiresAt } = claims;
      if (!hasScopes(scopes, settings)) return challenges.insufficientScope;
      const identity: Identity = { principal: user, scopes, expiresAt };
      verified.add(key, identity);
      return identity;
    } catch (error) {
      if (error instanceof InvalidToken) return challenges.invalid(error.message);
      if (error instanceof KeysUnavailable) return challenges.unavailable(error.retryAfterMs);
      warn(`A token could not be checked: ${messageOf(error)}`);
      return challenges.unavailable(RETRY_MS);
    }
  }

  return (headers) => {
    const token = bearerOf(headers);
    if (token === undefined) return challenges.missing;
    if (token.length > MAX_TOKEN_LENGTH) return challenges.invalid("The token is too long");
    const key = VerifiedTokens.keyOf(token);
    return verified.get(key) ?? singleFlight(checks, key, () => check(token, key));
  };
}

function checkByUser({ settings, now, warn, challenges }: CheckParts): Authenticate {
  return async (headers, request) => {
    try {
      const user = await settings.verify?.(request());
      if (user === undefined || user === null)
        return headers.get("authorization")
          ? challenges.invalid("The credential is not valid")
          : challenges.missing;
      return toIdentity(user);
    } catch (error) {
      warn(`\`auth.verify\` failed: ${messageOf(error)}`);
      return challenges.unavailable(RETRY_MS);
    }
  };

  function toIdentity({ principal, scopes = [], expiresAt }: VerifiedUser): Outcome {
    if (typeof principal !== "string" || principal === "") throw new Error("it returned no `principal`");
    if (!Array.isArray(scopes)) throw new Error("`scopes` is not a list");
    if (expiresAt !== undefined && !Number.isFinite(expiresAt))
      throw new Error("`expiresAt` is not a number");
    if (expiresAt !== undefined && expiresAt <= now())
      return challenges.invalid("The credential has expired");
    if (!hasScopes(scopes, settings)) return challenges.insufficientScope;
    return { principal, scopes, expiresAt };
  }
}

const hasScopes = (granted: readonly string[], { scopes }: AuthSettings): boolean =>
  scopes.every((scope) => granted.includes(scope));

/** Without the `url` of the gateway, challenges name no metadata. */
function createChallenges({ addresses, scopes }: Pick<AuthSettings, "addresses" | "scopes">) {
  const scope = scopes.join(" ");
  const challenge = (error?: string, why?: string): string => {
    const fields = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      ...(why === undefined ? [] : [`error_description="${why}"`]),
      ...(scope === "" ? [] : [`scope="${scope}"`]),
      ...(addresses === undefined ? [] : [`resource_metadata="${addresses.metadataUrl}"`]),
    ];
    return `Bearer ${fields.length === 0 ? 'realm="toolport"' : fields.join(", ")}`;
  };
  const refuse = (status: 401 | 403, error: string, why: string, challengeError?: string): Rejection =>
    reject(status, error, why, {
      "www-authenticate": challenge(challengeError, challengeError === undefined ? undefined : why),
    });
  return {
    // RFC 6750, 3.1: no error code if the request has no credentials at all.
    missing: refuse(401, "unauthorized", "Send an access token as Authorization: Bearer"),
    /** @param why a sentence without anything from the request */
    invalid: (why: string) => refuse(401, "invalid_token", why, "invalid_token"),
    insufficientScope: refuse(
      403,
      "insufficient_scope",
      "The token lacks a scope that this server needs",
      "insufficient_scope",
    ),
    forbidden: reject(403, "access_denied", "This user may not use this server", {}),
    /** The token could not be checked. */
    unavailable: (retryAfterMs: number) =>
      reject(503, "temporarily_unavailable", "The access token cannot be checked now; try again", {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
      }),
  };
}

function reject(
  status: Rejection["status"],
  error: string,
  why: string,
  headers: Record<string, string>,
): Rejection {
  return {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    body: JSON.stringify({ error, error_description: why }),
  };
}

/** The metadata document of RFC 9728, as JSON. */
function protectedResourceMetadata(
  { resource }: GatewayAddresses,
  { issuer, scopes }: { readonly issuer: string | undefined; readonly scopes: readonly string[] },
): string {
  return JSON.stringify({
    resource,
    ...(issuer !== undefined && { authorization_servers: [issuer] }),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ["header"],
    resource_name: "Toolport",
  });
}

const MAX_AGE_MS = 300_000;
const MAX_ENTRIES = 10_000;

/** Moving an entry with every request would fill the map with deleted places, which live until a full garbage collection. */
const MOVE_MS = 1_000;

interface Entry {
  readonly identity: Identity;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** When the entry was moved to the end. */
  readonly movedAt: number;
}

/** By the SHA-256 of the token: a heap dump contains no usable token. */
export class VerifiedTokens {
  /** The least recently used is the first, to the second. */
  readonly #entries = new BoundedMap<string, Entry>(MAX_ENTRIES);

  constructor(private readonly now: () => number) {}

  static keyOf(token: string): string {
    return hash("sha256", token, "base64");
  }

  get(key: string): Identity | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const now = this.now();
    if (entry.until <= now) {
      this.#entries.delete(key);
      return undefined;
    }
    if (now - entry.movedAt >= MOVE_MS) this.#entries.set(key, { ...entry, movedAt: now });
    return entry.identity;
  }

  /** Until the token ends, or for five minutes. */
  add(key: string, identity: Identity): void {
    const now = this.now();
    const until = Math.min(identity.expiresAt ?? Number.POSITIVE_INFINITY, now + MAX_AGE_MS);
    this.#entries.set(key, { identity, until, movedAt: now });
  }
}
