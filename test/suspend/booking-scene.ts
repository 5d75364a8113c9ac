/** A port to the booking server, with a store in memory. */
import { createToolport, memoryStore, type Store, type Toolport, type ToolportOptions } from "toolport";
import { type BookingServer, createBookingServer } from "./booking-server.js";

export interface BookingScene extends AsyncDisposable {
  readonly toolport: Toolport;
  readonly seen: BookingServer["seen"];
  readonly store: Store;
}

export function openBooking(options: ToolportOptions = {}): BookingScene {
  const { server, seen } = createBookingServer();
  const store = memoryStore();
  const toolport = createToolport({ mcpServers: { travel: server.memory() }, store, ...options });
  return {
    toolport,
    seen,
    store,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}
