/** A port of this machine that only a server names: a client that connects to it was led there by the server. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { FaultHarness } from "./fault-harness.js";

export interface Canary {
  /** Host and port. */
  readonly host: string;
  visits(): number;
}

/** Closed with the harness. */
export async function openCanary(harness: FaultHarness): Promise<Canary> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  harness.atEnd(() => new Promise((resolve) => server.close(resolve)));
  return { host: `127.0.0.1:${(server.address() as { port: number }).port}`, visits: () => visits };
}
