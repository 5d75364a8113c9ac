/** A port with a booking server on any store, and what it warns of. */
import { createToolport, type Store } from "toolport";
import { createBookingServer } from "./booking-server.js";

export function openBookings(store: Store) {
  const { server, seen } = createBookingServer();
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} };
  const toolport = createToolport({ mcpServers: { travel: server.memory() }, store, logger });
  return {
    toolport,
    seen,
    warnings,
    suspend: (suspend: { requireDurable?: boolean }, port = toolport) =>
      port.callTool("travel__book", { to: "Oslo" }, { suspend }),
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}
