/** A plain TCP proxy on 127.0.0.1 that a test makes slow, points elsewhere, or cuts. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Where new connections go. */
  target: number;
  /** What everything waits, in each direction, on its way. @default 0 */
  delayMs: number;
  /** Resets every connection there is. */
  cut(): void;
}

/** Passes every connection on to a port of 127.0.0.1. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    const far = keep(connect(proxy.target, "127.0.0.1"));
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
    near.pipe(delayed(() => proxy.delayMs)).pipe(far);
    far.pipe(delayed(() => proxy.delayMs)).pipe(near);
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
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
  return proxy;
}

/** Holds every piece for as long as the delay is when it comes, in order. */
function delayed(delayMs: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const ms = delayMs();
      if (ms === 0) done(null, chunk);
      else setTimeout(done, ms, null, chunk);
    },
  });
}
