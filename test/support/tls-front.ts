/** Puts TLS with a given certificate before a server on a port of 127.0.0.1. */

import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { Certificate } from "./certificates.js";
import { joinSockets } from "./join-sockets.js";

export interface TlsFront {
  readonly port: number;
  /** Number of decrypted bytes from clients. */
  readonly bytes: number;
  close(): Promise<void>;
}

export async function startTlsFront(certificate: Certificate, target: number): Promise<TlsFront> {
  const sockets = new Set<TLSSocket>();
  let bytes = 0;
  const server = createServer({ key: certificate.key, cert: certificate.cert }, (socket) => {
    sockets.add(socket);
    const behind = connect(target, "127.0.0.1");
    socket.on("data", (chunk) => {
      bytes += chunk.byteLength;
    });
    joinSockets(socket, behind);
    socket.on("close", () => sockets.delete(socket));
  });
  // A client that rejects the certificate disconnects during the handshake.
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get bytes() {
      return bytes;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
