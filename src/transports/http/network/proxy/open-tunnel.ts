/** Opens connections through a proxy with the CONNECT method, for one socket or for all sockets of a pool. */
import { type Agent, request as httpRequest, type RequestOptions } from "node:http";
import type { LookupFunction, Socket } from "node:net";
import { USER_AGENT } from "../../../../util/version.js";
import { clientClosed } from "../http-errors.js";
import type { ProxyServer } from "./proxy-server.js";

export interface TunnelOptions {
  /** The target: a name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Timeout until the proxy's response. */
  readonly timeoutMs: number;
  /** Rejects with the reason of this signal. */
  readonly signal?: AbortSignal | undefined;
  /** Resolves the name of the proxy. The proxy resolves the name of the target. */
  readonly lookup?: LookupFunction | undefined;
  /** Does not keep the host process alive. @default false */
  readonly isUnref?: boolean | undefined;
}

/** Resolves with a socket that is connected to the target. The caller adds TLS. */
export async function openTunnel(proxy: ProxyServer, options: TunnelOptions): Promise<Socket> {
  const { hostname, port, timeoutMs, signal, lookup, isUnref } = options;
  const target = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const request = (proxy.protocol === "https:" ? (await import("node:https")).request : httpRequest)({
    hostname: proxy.hostname,
    port: proxy.port,
    method: "CONNECT",
    path: target,
    headers: {
      host: target,
      "user-agent": USER_AGENT,
      ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
    },
    // No pool: the socket is handed to the caller.
    agent: false,
    rejectUnauthorized: true,
    ...(lookup !== undefined && { lookup }),
  } as RequestOptions);
  return new Promise((resolve, reject) => {
    const onAbort = () => fail(signal?.reason);
    const timer = setTimeout(() => fail(proxy.tooSlow(target, timeoutMs)), timeoutMs);
    const stopWaiting = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown): void => {
      stopWaiting();
      reject(error);
      request.destroy();
    };
    // Errors after the first come from our own `destroy()`: the promise is settled by then.
    request.on("error", (error) => fail(proxy.unreachable(error)));
    if (isUnref === true) {
      timer.unref();
      request.once("socket", (socket) => socket.unref());
    }
    request.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      stopWaiting();
      if (statusCode >= 200 && statusCode < 300 && head.byteLength === 0) return resolve(socket);
      socket.destroy();
      // The target sends nothing before our first byte, so this data is not from the target.
      fail(
        statusCode >= 200 && statusCode < 300
          ? proxy.unexpectedData(target)
          : proxy.refused(target, statusCode),
      );
    });
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    request.end();
  });
}

/** Tunnels being opened, each with its abort controller. They are in no pool yet. */
export type PendingTunnels = Map<Promise<unknown>, AbortController>;

/** A request option that Node passes to the pool. The callback receives a function that stops opening the tunnel. */
export interface TunnelRequest {
  readonly onTunnelOpening?: ((giveUp: () => void) => void) | undefined;
}

interface ConnectOptions extends TunnelRequest {
  readonly host: string;
  readonly port: number | string;
}

/** Makes every new socket of the pool connect through the proxy; TLS with the target starts when the tunnel is open. */
export function connectThrough(
  proxy: ProxyServer,
  pool: Agent,
  pendingTunnels: PendingTunnels,
  options: Pick<TunnelOptions, "timeoutMs" | "lookup" | "isUnref">,
): void {
  const secure = pool.createConnection as (options: object) => Socket;
  const connect = async (target: ConnectOptions, signal: AbortSignal): Promise<Socket> => {
    const { host: hostname, port } = target;
    const socket = await openTunnel(proxy, { ...options, hostname, port: Number(port), signal });
    return secure.call(pool, { ...target, socket });
  };
  const createConnection = (
    target: ConnectOptions,
    done: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const dial = new AbortController();
    const connecting = connect(target, dial.signal);
    pendingTunnels.set(connecting, dial);
    target.onTunnelOpening?.(() => dial.abort(clientClosed(true)));
    const finish = (error: Error | null, socket?: Socket) => {
      pendingTunnels.delete(connecting);
      done(error, socket);
    };
    connecting.then((socket) => finish(null, socket), finish);
  };
  pool.createConnection = createConnection as unknown as typeof pool.createConnection;
}
