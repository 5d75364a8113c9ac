/** A proxy to PostgreSQL that delivers `ReadyForQuery` together with the next message, as may happen on a busy machine. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface HeldGreeting extends AsyncDisposable {
  readonly port: number;
  /** Resolves when the server has sent `ReadyForQuery` on its first connection, before the client gets it. */
  readonly held: Promise<void>;
}

/** `ReadyForQuery`, idle. */
const READY = Buffer.from("Z\0\0\0\x05I", "latin1");

/** Forwards connections to a port of 127.0.0.1. On the first one `ReadyForQuery` is held until the next message. */
export async function holdGreeting(target: number): Promise<HeldGreeting> {
  const sockets = new Set<Socket>();
  let tellHeld = () => {};
  const held = new Promise<void>((resolve) => {
    tellHeld = resolve;
  });
  let isFirst = true;
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    let mayHold = isFirst;
    let kept: Buffer | undefined;
    isFirst = false;
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.once("close", () => far.destroy()).pipe(far);
    far.once("close", () => near.end());
    far.on("data", (chunk: Buffer) => {
      if (mayHold && chunk.subarray(-READY.length).equals(READY)) {
        mayHold = false;
        kept = chunk;
        tellHeld();
        return;
      }
      near.write(kept === undefined ? chunk : Buffer.concat([kept, chunk]));
      kept = undefined;
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    held,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
