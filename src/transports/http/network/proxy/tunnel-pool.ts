/** Makes a pool of TLS sockets connect through a proxy. */
import type { LookupFunction, Socket } from "node:net";
import { clientClosed } from "../network-error.js";
import type { Pool } from "../socket-pools.js";
import { openTunnel } from "./open-tunnel.js";
import type { ProxyServer } from "./proxy-server.js";

/** Tunnels that are being opened, with what ends each: no pool knows them yet. */
export type Dials = Map<Promise<unknown>, AbortController>;

/** An option of a request that Node hands to the pool: it is given the way to stop opening the request's tunnel. */
export interface DialingRequest {
  readonly onDial?: ((giveUp: () => void) => void) | undefined;
}

interface ConnectOptions extends DialingRequest {
  readonly host: string;
  readonly port: number | string;
}

export interface TunnelPoolOptions {
  readonly timeoutMs: number;
  readonly lookup: LookupFunction | undefined;
  readonly isUnref: boolean;
  readonly dials: Dials;
}

/** From now on every socket of the pool goes through the proxy; TLS with the target begins when the tunnel is open. */
export function connectThrough(proxy: ProxyServer, pool: Pool, { dials, ...more }: TunnelPoolOptions): void {
  const secure = pool.createConnection as (options: object) => Socket;
  const connect = async (options: ConnectOptions, signal: AbortSignal): Promise<Socket> => {
    const { host: hostname, port } = options;
    const socket = await openTunnel(proxy, { ...more, hostname, port: Number(port), signal });
    return secure.call(pool, { ...options, socket });
  };
  const createConnection = (
    options: ConnectOptions,
    done: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const dial = new AbortController();
    const connecting = connect(options, dial.signal);
    dials.set(connecting, dial);
    options.onDial?.(() => dial.abort(clientClosed(true)));
    const finish = (error: Error | null, socket?: Socket) => {
      dials.delete(connecting);
      done(error, socket);
    };
    connecting.then((socket) => finish(null, socket), finish);
  };
  pool.createConnection = createConnection as unknown as typeof pool.createConnection;
}
