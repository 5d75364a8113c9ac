/** A port of this machine that nobody knows of but by a server: whoever connects to it was led there. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { FaultHarness } from "./fault-harness.js";

export interface Canary {
  /** Host and port. */
  readonly host: string;
  visits(): number;
}

/** Closed at the end of the harness. */
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
