/** The OAuth credentials of one port: one `ServerOAuth` for each server, created on first use. */

import { ConfigError } from "@toolport/base";
import type { HttpClient } from "@toolport/http/wire-client";
import type { OAuthStatus, ServerOAuth } from "../auth/server-oauth.js";
import type { NetworkConfig } from "../config/entry-options.js";
import { secretsOf } from "../config/known-secrets.js";
import type { HttpConfig, ServerConfig, SseConfig } from "../config/server-config.js";
import { serverIdentity } from "../config/server-keys.js";
import type { AuthorizedSend } from "../transports/server-transport.js";
import type { SharedParts } from "./shared-parts.js";
import { authEvents } from "./wire-events.js";

/** What the credentials need of their port. */
interface OAuthAccess {
  configOf(server: string): ServerConfig | undefined;
  http(config: NetworkConfig): Promise<HttpClient>;
}

export class PortOAuth {
  readonly #parts: SharedParts;
  readonly #principal: string | undefined;
  readonly #port: OAuthAccess;
  /** By identity, so that another URL under the same name does not get the old tokens. */
  readonly #servers = new Map<string, ServerOAuth | Promise<ServerOAuth>>();

  constructor(parts: SharedParts, principal: string | undefined, port: OAuthAccess) {
    this.#parts = parts;
    this.#principal = principal;
    this.#port = port;
  }

  /** Adds credentials to the requests of a server; undefined if the user does that. */
  authorizedSendOf = (server: string): AuthorizedSend | undefined => {
    const config = this.#configOf(server);
    if (config === undefined || !this.#isOurs(config)) return undefined;
    const isConfigured = typeof config.oauth === "object";
    const identity = serverIdentity(config);
    return (request, send) => {
      // A token in the configured headers takes precedence.
      if (request.authorization !== undefined && !isConfigured) return send({});
      const oauth = this.#servers.get(identity) ?? this.#oauthOf(config);
      return "send" in oauth ? oauth.send(request, send) : oauth.then((loaded) => loaded.send(request, send));
    };
  };

  /** True if the user has logged in since the server last rejected the credentials. */
  async hasNewCredentials(server: string): Promise<boolean> {
    const config = this.#configOf(server);
    if (config === undefined || !this.#isOurs(config)) return false;
    try {
      return await (await this.#oauthOf(config)).hasNewCredentials();
    } catch {
      // The store failed. The caller throws its own error.
      return false;
    }
  }

  /** For logging in and out. Throws if Toolport does not handle the credentials of the server. */
  async require(server: string): Promise<ServerOAuth> {
    const config = this.#configOf(server);
    if (config !== undefined && config.oauth !== false && config.authProvider === undefined)
      return this.#oauthOf(config);
    throw new ConfigError({
      code: "INVALID_CONFIG",
      server,
      what:
        config === undefined
          ? "Only servers reached over HTTP are authorized by OAuth"
          : "The tokens of this server are kept by its own `authProvider`, or it has none (`oauth: false`)",
      next: config === undefined ? "Pass its credentials in `env` or `headers`" : "Set `oauth` on its entry",
    });
  }

  /** Finishes a login of any provider. `onSpent` is called once its URL cannot be used again. */
  async finish(server: string, params: URLSearchParams, onSpent?: () => void): Promise<void> {
    const config = this.#configOf(server);
    const provider = config?.authProvider;
    if (config === undefined || provider === undefined)
      return (await this.require(server)).finish(params, onSpent);
    if (!("tokens" in provider))
      throw new ConfigError({
        code: "INVALID_CONFIG",
        server,
        what: "Its `authProvider` has only token(): there is no login to finish",
        next: "Give it an OAuthClientProvider, or set `oauth` on its entry instead",
      });
    const { finishProviderLogin } = await import("../auth/finish-authorization.js");
    const http = () => this.#port.http(config);
    await finishProviderLogin({ server, provider, serverUrl: new URL(config.url), http, onSpent }, params);
  }

  /** The server was removed: one added later under the same name reads its credentials from the store. */
  forget(config: ServerConfig): void {
    this.#servers.delete(serverIdentity(config));
  }

  async status(server: string): Promise<OAuthStatus | undefined> {
    const config = this.#configOf(server);
    return config !== undefined && this.#isOurs(config) ? (await this.#oauthOf(config)).status() : undefined;
  }

  /** The URL of a login that was started and not finished yet; undefined also if Toolport does not handle the credentials. */
  async loginUrl(server: string): Promise<string | undefined> {
    const config = this.#configOf(server);
    return config !== undefined && this.#isOurs(config)
      ? (await this.#oauthOf(config)).loginUrl()
      : undefined;
  }

  #configOf(server: string): HttpConfig | SseConfig | undefined {
    const config = this.#port.configOf(server);
    return config !== undefined && isOverHttp(config) ? config : undefined;
  }

  #isOurs({ oauth, authProvider }: HttpConfig | SseConfig): boolean {
    if (authProvider !== undefined || oauth === false) return false;
    const { callbackUrl, isSaved } = this.#parts.settings;
    // A configured store may contain logins of other processes.
    return oauth !== undefined || callbackUrl !== undefined || isSaved;
  }

  #oauthOf(config: HttpConfig | SseConfig): ServerOAuth | Promise<ServerOAuth> {
    const identity = serverIdentity(config);
    const known = this.#servers.get(identity);
    if (known !== undefined) return known;
    const { settings, emitter, warn } = this.#parts;
    const principal = this.#principal;
    const observe = authEvents(emitter, principal);
    // Loaded on first use: most ports need no OAuth.
    const made = import("../auth/server-oauth.js").then(({ createServerOAuth }) =>
      createServerOAuth({
        server: config.name,
        identity,
        serverUrl: new URL(config.url),
        options: typeof config.oauth === "object" ? config.oauth.reveal() : {},
        principal,
        store: settings.store,
        http: () => this.#port.http(config),
        callbackUrl: settings.callbackUrl?.toString(),
        clientName: settings.clientInfo.name,
        warn: (message) => warn(config.name, message),
        observe: (exchange) => observe(exchange, { server: config.name, redact: secretsOf(config).foreign }),
      }),
    );
    this.#servers.set(identity, made);
    made.then(
      (oauth) => {
        if (this.#servers.get(identity) === made) this.#servers.set(identity, oauth);
      },
      () => {},
    );
    return made;
  }
}

const isOverHttp = (config: ServerConfig): config is HttpConfig | SseConfig =>
  config.kind === "http" || config.kind === "sse";
