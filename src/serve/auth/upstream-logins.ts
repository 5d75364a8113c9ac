/** Logins of users at upstream servers: starts and finishes them for the connect page. */
import type { ConnectOptions } from "../../connection/server-connection.js";
import { AuthError } from "../../errors/auth-error.js";

/** What the connect page does at upstream servers. */
export interface UpstreamLogins {
  /** The address of the login page; undefined if the user is logged in. */
  start(principal: string, server: string): Promise<string | undefined>;
  /** Finishes the login with the parameters of its callback, and lets the connection go on. */
  finish(principal: string, server: string, params: URLSearchParams): Promise<void>;
}

/** The parts of a port that a login needs. */
export interface LoginPort {
  opened(): Promise<void> | undefined;
  readonly pool: {
    require(server: string): { connect(options: ConnectOptions): Promise<unknown> };
  };
  readonly oauth: {
    loginUrl(server: string): Promise<string | undefined>;
    finish(server: string, params: URLSearchParams): Promise<void>;
  };
}

/** How long a browser waits for the server at most. */
const CONNECT_MS = 15_000;

export function createUpstreamLogins(portOf: (principal: string) => LoginPort): UpstreamLogins {
  return {
    async start(principal, server) {
      const port = portOf(principal);
      await port.opened();
      try {
        await port.pool.require(server).connect({ timeoutMs: CONNECT_MS, isRequested: true });
      } catch (error) {
        if (error instanceof AuthError && error.authUrl !== undefined) return error.authUrl;
        throw error;
      }
      // A server that lets users connect may still require a login, or more scopes, for a call.
      return port.oauth.loginUrl(server);
    },
    async finish(principal, server, params) {
      const port = portOf(principal);
      await port.opened();
      await port.oauth.finish(server, params);
      // Not awaited: the browser shows the outcome of the login. Calls see the outcome of the connection.
      port.pool
        .require(server)
        .connect({ timeoutMs: CONNECT_MS, isRequested: true })
        .catch(() => {});
    },
  };
}
