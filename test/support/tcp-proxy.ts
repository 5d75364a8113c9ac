/** A plain TCP proxy on 127.0.0.1 that a test can delay, redirect, reset, or make drop its connections silently. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Target port of new connections. */
  target: number;
  /** Delay of all data in each direction. @default 0 */
  delayMs: number;
  /** Resets every open connection. */
  cut(): void;
  /**
   * Drops every connection silently, as a NAT router does: neither side is notified. Data that a client sends later is
   * swallowed (`"silent"`) or answered with a reset (`"reset"`). New connections work.
   */
  forget(then: "silent" | "reset"): void;
}

/** Forwards every connection to a port of 127.0.0.1. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const forget = new Set<(then: "silent" | "reset") => void>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    const far = keep(connect(proxy.target, "127.0.0.1"));
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
    const out = near.pipe(delayed(() => proxy.delayMs));
    const back = far.pipe(delayed(() => proxy.delayMs));
    out.pipe(far);
    back.pipe(near);
    const forgetPair = (then: "silent" | "reset") => {
      near.unpipe(out);
      back.unpipe(near);
      back.resume();
      near.on("data", () => then === "reset" && near.resetAndDestroy()).resume();
    };
    forget.add(forgetPair);
    near.once("close", () => forget.delete(forgetPair));
  });
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  await once(server.listen(0, "127.0.0.1"), "listening");
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    target,
    delayMs: 0,
    cut,
    forget(then) {
      for (const pair of forget) pair(then);
      forget.clear();
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
  return proxy;
}

/** Delays every chunk by the delay at its arrival, in order. */
function delayed(delayMs: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const ms = delayMs();
      if (ms === 0) done(null, chunk);
      else setTimeout(done, ms, null, chunk);
    },
  });
}
