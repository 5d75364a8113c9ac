/** Server requests of a connection that carries the capabilities of a gateway's clients: the clients answer them. */
import type { ClientCapabilities } from "@modelcontextprotocol/client";
import type { Relay } from "../relay.js";
import { RelayedCalls, type SharedRelayState } from "../relayed-calls.js";
import type { RequestChannel } from "../request-channel.js";
import { createServerRequests, type ServerRequests } from "./server-requests.js";

const none = createServerRequests({ report() {} });

/** Server requests of the connections for one set of capabilities. */
export interface RelayedRequests extends ServerRequests {
  /** Call before a connection is opened for a request. */
  opensFor(relay: Relay): void;
  /** @param client answers a question for the new roots. @default such questions are refused */
  rootsChanged(client?: Relay): Promise<void>;
}

/** @param capabilities those that the clients declared */
export function createRelayedRequests(capabilities: Relay["capabilities"]): RelayedRequests {
  const shared: SharedRelayState = { hasTurns: false };
  const open = new Set<RequestChannel>();
  return {
    ...none,
    capabilities: capabilities as ClientCapabilities,
    attach(channel, server) {
      shared.hasTurns ||= channel.sdkTransport.hasPerRequestStream !== true;
      const calls = new RelayedCalls(server, channel, shared);
      calls.answer();
      return {
        ...none.attach(channel, server),
        calls,
        opened() {
          open.add(channel);
          void channel.closed.then(() => open.delete(channel));
        },
      };
    },
    async rootsChanged(client) {
      shared.changedRoots = client;
      // Ignore failures: the channel handles a broken connection.
      const notify = (channel: RequestChannel) =>
        channel.notify("notifications/roots/list_changed").catch(() => {});
      await Promise.all([...open].map(notify));
    },
    opensFor(relay) {
      shared.opener = relay;
    },
  };
}
