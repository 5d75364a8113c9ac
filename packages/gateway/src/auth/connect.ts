/** The connect page: lets a user log in at an upstream server, after the browser has proven to belong to that user. */
import { AuthError, ConfigError, singleParameter } from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import type { Store } from "@toolport/stores";
import type { Seal } from "../replicas/seal.js";
import type { AuthSettings } from "./auth-options.js";
import type { Authenticator } from "./authenticator.js";
import { messageOf } from "./issuer.js";
import {
  cookieNameOf,
  createRelyingParty,
  deleteCookie,
  hashOf,
  type LoginSecrets,
  type RelyingParty,
  readCookie,
  setCookie,
} from "./relying-party.js";

export interface ConnectContext {
  readonly authenticator: Pick<Authenticator, "settings" | "issuer">;
  /** Seals the links and the cookies; the same keys on all replicas. */
  readonly seal: Pick<Seal, "seal" | "openFresh">;
  /** Records which links were used, for all replicas. */
  readonly store: Pick<Store, "get" | "put">;
  readonly logins: UpstreamLogins;
  /** The option `callbackUrl` of `createToolport`. */
  readonly callbackUrl: string | undefined;
  /** Reports a problem to the operator. */
  readonly warn: (message: string, server?: string) => void;
  /** @default Date.now */
  readonly now?: (() => number) | undefined;
}

export interface Connect {
  /** Why there are no links: a sentence that names the options. Undefined if there are. */
  readonly missing: string | undefined;
  /** A link for one user and one server: can be used once, within 10 minutes. Undefined if there are no links. */
  link(principal: string | undefined, server: string): string | undefined;
  /** Answers a request to a connect page; undefined if the path is another one. The promise never rejects. */
  handle(request: Request): Promise<Response> | undefined;
}

/** The content of a link. */
interface Link {
  readonly principal: string;
  readonly server: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly exp: number;
}

/** The content of a cookie: a login at the issuer, or one at an upstream server. */
interface BegunLogins {
  readonly login: LoginSecrets & { readonly link: Link; readonly exp: number };
  readonly upstream: Pick<Link, "principal" | "server" | "exp">;
}

const LINK_MS = 600_000;
/** A used link is remembered for longer than clocks differ. */
const USED_MS = LINK_MS + 180_000;
const PURPOSES = { link: "connect-link", login: "connect-login", upstream: "connect-upstream" } as const;
const MISSING =
  "This gateway has no page on which users log in at upstream servers. " +
  "Its operator can set `auth.connect`, or `identify`, in the options of the gateway";
/** Without users, the logins of the machine are used. */
const LOCAL = "Log in with `toolport auth` on the machine of the gateway";

/**
 * Creates the connect pages of a gateway.
 *
 * @throws ConfigError if `callbackUrl` does not lead to the connect pages
 */
export function createConnect(context: ConnectContext): Connect {
  const { settings, issuer } = context.authenticator;
  const { addresses, connect: client, identify } = settings;
  const hasUsers = settings.mode === "jwt" || settings.mode === "verify";
  checkConnectOptions(settings, context.callbackUrl);
  if (addresses === undefined || !hasUsers || !hasLogin(settings))
    return { missing: hasUsers ? MISSING : LOCAL, link: () => undefined, handle: () => undefined };
  const { connectUrl } = addresses;
  const now = context.now ?? Date.now;
  const relyingParty =
    identify !== undefined || client === undefined || issuer === undefined
      ? undefined
      : createRelyingParty({ issuer, client, settings, now, redirectUri: `${connectUrl}/login` });
  const pages = new ConnectPages({ ...context, now }, relyingParty);
  const folders = new Set(["/connect", new URL(connectUrl).pathname]);
  return {
    missing: undefined,
    link(principal, server) {
      if (principal === undefined) return undefined;
      const link: Link = { principal, server, id: crypto.randomUUID(), exp: now() + LINK_MS };
      return `${connectUrl}/${context.seal.seal(PURPOSES.link, link)}`;
    },
    handle(request) {
      const { pathname } = new URL(request.url);
      const cut = pathname.lastIndexOf("/");
      return folders.has(pathname.slice(0, cut)) ? pages.answer(request, pathname.slice(cut + 1)) : undefined;
    },
  };
}

/** Whether the gateway can find out who opens a connect page. */
const hasLogin = ({ connect, identify }: AuthSettings): boolean =>
  connect !== undefined || identify !== undefined;

/**
 * Checks that logins at upstream servers return to the connect page.
 *
 * @param callbackUrl the option of `createToolport`
 * @throws ConfigError that names the right address
 */
export function checkConnectOptions(settings: AuthSettings, callbackUrl: string | undefined): void {
  const { addresses } = settings;
  if (addresses === undefined || !hasLogin(settings)) return;
  const expected = `${addresses.connectUrl}/callback`;
  if (callbackUrl === expected) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `Logins at upstream servers have to return to the connect page of the gateway, at ${expected}`,
    next: `Set \`callbackUrl: "${expected}"\` in the options of createToolport`,
  });
}

/** A reason to end a login with a page. */
class Stop extends Error {
  constructor(readonly page: ConnectPage) {
    super(page);
  }
}

class ConnectPages {
  constructor(
    private readonly context: Required<ConnectContext>,
    /** Undefined: `identify` names the user. */
    private readonly relyingParty: RelyingParty | undefined,
  ) {}

  async answer(request: Request, name: string): Promise<Response> {
    try {
      checkNavigation(request);
      if (name === "callback") return await this.#finishUpstream(request);
      if (name === "login") return await this.#finishLogin(request);
      return await this.#open(request, name);
    } catch (error) {
      if (error instanceof Stop) return connectPage(error.page);
      this.context.warn(`A connect page failed: ${messageOf(error)}`);
      return connectPage("unavailable");
    }
  }

  /** The user opens a link. */
  async #open(request: Request, text: string): Promise<Response> {
    const { authenticator, store } = this.context;
    const link = await this.#read<Link>("link", text, "unusable");
    if ((await store.get(usedKey(link))) !== undefined) throw new Stop("unusable");
    if (this.relyingParty === undefined) {
      const user = await authenticator.settings.identify?.(request);
      return user instanceof Response ? user : this.#goOn(user, link, []);
    }
    const { url, secrets } = await this.relyingParty.start();
    const login = { ...secrets, link, exp: link.exp };
    return redirectTo(url, [this.#cookie("login", secrets.state, login)]);
  }

  /** The issuer sends the browser back. */
  async #finishLogin(request: Request): Promise<Response> {
    if (this.relyingParty === undefined) throw new Stop("badRequest");
    const { params, login, spent } = await this.#returned(request, "login");
    let user: string | undefined;
    try {
      user = await this.relyingParty.finish(params, login);
    } catch (error) {
      return this.#failed("A login for the connect page failed", error, login.link.server, spent);
    }
    return this.#goOn(user, login.link, spent);
  }

  /** The user is known: starts the login at the upstream server. */
  async #goOn(user: string | undefined, link: Link, cookies: readonly string[]): Promise<Response> {
    const { logins, store, warn, now } = this.context;
    const { principal, server } = link;
    if (user !== principal) {
      warn("A user opened the connect link of another user; nothing was saved", server);
      return connectPage("otherUser", cookies);
    }
    let authUrl: string | undefined;
    try {
      authUrl = await logins.start(principal, server);
    } catch (error) {
      return this.#failed("A login cannot be started", error, server, cookies);
    }
    // The first one wins, on all replicas.
    const isFirst = await store.put(usedKey(link), { at: now() }, { ifVersion: 0, ttlMs: USED_MS });
    if (isFirst === undefined) return connectPage("unusable", cookies);
    if (authUrl === undefined) return connectPage("connected", cookies);
    const state = singleParameter(new URL(authUrl).searchParams, "state");
    if (state === undefined) {
      warn("The login page of this server has no `state`, so the login cannot be bound to a browser", server);
      return connectPage("failed", cookies);
    }
    const login = { principal, server, exp: now() + LINK_MS };
    return redirectTo(authUrl, [...cookies, this.#cookie("upstream", state, login)]);
  }

  /** The authorization server of the upstream server sends the browser back. */
  async #finishUpstream(request: Request): Promise<Response> {
    const { params, login, spent } = await this.#returned(request, "upstream");
    try {
      await this.context.logins.finish(login.principal, login.server, params);
      return connectPage("connected", spent);
    } catch (error) {
      return this.#failed("A login failed", error, login.server, spent);
    }
  }

  /** The login that this browser has begun with the `state` that it brings. Its cookie is spent. */
  async #returned<Kind extends keyof BegunLogins>(request: Request, kind: Kind) {
    const params = new URL(request.url).searchParams;
    const state = singleParameter(params, "state");
    if (state === undefined) throw new Stop("badRequest");
    const name = cookieNameOf(kind, state);
    const sealed = readCookie(request, name) ?? "";
    const login = await this.#read<BegunLogins[Kind] & { stateHash?: string }>(kind, sealed, "otherBrowser");
    // The name of the cookie has only a part of the hash.
    if (login.stateHash !== hashOf(state)) throw new Stop("otherBrowser");
    return { params, login, spent: [deleteCookie(name)] };
  }

  #failed(what: string, error: unknown, server: string, cookies: readonly string[]): Response {
    this.context.warn(`${what}: ${messageOf(error)}`, server);
    return connectPage("failed", cookies);
  }

  async #read<Value extends { exp: number }>(
    kind: keyof typeof PURPOSES,
    text: string,
    otherwise: ConnectPage,
  ): Promise<Value> {
    const value = (await this.context.seal.openFresh(PURPOSES[kind], text)) as Value | undefined;
    if (value === undefined || value.exp <= this.context.now()) throw new Stop(otherwise);
    return value;
  }

  #cookie<Kind extends keyof BegunLogins>(kind: Kind, state: string, login: BegunLogins[Kind]): string {
    const text = this.context.seal.seal(PURPOSES[kind], { ...login, stateHash: hashOf(state) });
    return setCookie(cookieNameOf(kind, state), text, login.exp - this.context.now());
  }
}

const usedKey = ({ id }: Link): string => `serve/connect/${id}`;

/** Only a person who follows a link or a redirect: no script, no frame, no form, no prefetch. */
function checkNavigation({ method, headers }: Request): void {
  if (method !== "GET") throw new Stop("wrongMethod");
  const mode = headers.get("sec-fetch-mode");
  const target = headers.get("sec-fetch-dest");
  const isPage = (mode ?? "navigate") === "navigate" && (target ?? "document") === "document";
  if (!isPage || headers.has("origin")) throw new Stop("badRequest");
  const purpose = `${headers.get("sec-purpose") ?? ""}${headers.get("purpose") ?? ""}`;
  if (purpose.includes("prefetch")) throw new Stop("unavailable");
}

/** Forbids scripts, frames, forms and caching. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

const AGAIN = "Go back to your application and ask for a new link.";

const PAGES = {
  connected: [200, "You are logged in", "You can close this page and go back to your application."],
  badRequest: [400, "This page was opened in the wrong way", AGAIN],
  otherBrowser: [
    403,
    "This login was not started in this browser",
    `Nothing was saved. The login has to begin and end in the same browser, with cookies allowed. ${AGAIN}`,
  ],
  otherUser: [
    403,
    "This link belongs to another user",
    "Nothing was saved. Open only links that your own application shows you.",
  ],
  wrongMethod: [405, "This page was opened in the wrong way", AGAIN],
  unusable: [
    410,
    "This link cannot be used",
    `It has expired, was used before, or is not complete. ${AGAIN}`,
  ],
  failed: [502, "The login did not succeed", AGAIN],
  unavailable: [503, "The login is not possible at the moment", "Open the link again in a minute."],
} as const satisfies Record<string, readonly [number, string, string]>;

type ConnectPage = keyof typeof PAGES;

function connectPage(name: ConnectPage, cookies: readonly string[] = []): Response {
  const [status, title, text] = PAGES[name];
  const html =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
    `<body><h1>${title}</h1><p>${text}</p></body></html>\n`;
  return new Response(html, { status, headers: withCookies(HEADERS, cookies) });
}

/** Sends the browser to a login page. */
function redirectTo(location: string, cookies: readonly string[]): Response {
  const { "content-type": _type, ...headers } = HEADERS;
  return new Response(null, { status: 302, headers: withCookies({ ...headers, location }, cookies) });
}

function withCookies(fields: Readonly<Record<string, string>>, cookies: readonly string[]): Headers {
  const headers = new Headers(fields);
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return headers;
}

/** How long a browser waits for the server at most. */
const CONNECT_MS = 15_000;

/** What the connect page does at upstream servers. */
type UpstreamLogins = ReturnType<typeof createUpstreamLogins>;

export function createUpstreamLogins(portOf: (principal: string) => Pick<Port, "opened" | "pool" | "oauth">) {
  const open = async (principal: string, server: string) => {
    const port = portOf(principal);
    await port.opened();
    const connect = () => port.pool.require(server).connect({ timeoutMs: CONNECT_MS, isRequested: true });
    return { oauth: port.oauth, connect };
  };
  return {
    /** The address of the login page; undefined if the user is logged in. */
    async start(principal: string, server: string): Promise<string | undefined> {
      const { oauth, connect } = await open(principal, server);
      try {
        await connect();
      } catch (error) {
        if (error instanceof AuthError && error.authUrl !== undefined) return error.authUrl;
        throw error;
      }
      // A server that lets users connect may still require a login, or more scopes, for a call.
      return oauth.loginUrl(server);
    },
    /** Finishes the login with the parameters of its callback, and lets the connection go on. */
    async finish(principal: string, server: string, params: URLSearchParams): Promise<void> {
      const { oauth, connect } = await open(principal, server);
      await oauth.finish(server, params);
      // Not awaited: the browser shows the outcome of the login. Calls see the outcome of the connection.
      connect().catch(() => {});
    },
  };
}
