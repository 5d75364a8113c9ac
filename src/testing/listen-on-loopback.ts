/** A listener on 127.0.0.1 whose `close()` also drops open connections. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listening {
  /** Host and port. */
  readonly address: string;
  dropConnections(): void;
  close(): Promise<void>;
}

export async function listenOnLoopback(server: Server, port = 0): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  let closing: Promise<void> | undefined;
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    dropConnections: () => server.closeAllConnections(),
    close() {
      closing ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return closing;
    },
  };
}
