/** A connection to a target through a proxy, by the method CONNECT. */
import { request as httpRequest, type RequestOptions } from "node:http";
import type { LookupFunction, Socket } from "node:net";
import { USER_AGENT } from "../../../user-agent.js";
import type { ProxyServer } from "./proxy-server.js";

export interface TunnelOptions {
  /** The target: a name or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** For everything until the proxy's answer. */
  readonly timeoutMs: number;
  /** Rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** How the proxy's name becomes an address. The target's name is resolved by the proxy. */
  readonly lookup?: LookupFunction | undefined;
  /** It does not keep the host process alive. @default false */
  readonly isUnref?: boolean | undefined;
}

/** Resolves with a socket whose other end is the target. TLS is the caller's part. */
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
    // A socket of its own.
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
      // The target waits for our first byte: whatever came with a positive answer is not from it.
      fail(
        statusCode >= 200 && statusCode < 300 ? proxy.confused(target) : proxy.refused(target, statusCode),
      );
    });
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    request.end();
  });
}
