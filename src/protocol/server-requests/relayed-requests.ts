/** Server requests of a connection that carries the capabilities of a gateway's clients: the clients answer them. */
import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { RelayedCalls } from "../relayed-calls.js";
import { createServerRequests, type ServerRequests } from "./server-requests.js";

const none = createServerRequests({ report() {} });

/** @param capabilities those that the clients declared */
export function createRelayedRequests(capabilities: Readonly<Record<string, unknown>>): ServerRequests {
  const turns = { areNeeded: false };
  return {
    ...none,
    capabilities: capabilities as ClientCapabilities,
    attach(channel, server) {
      turns.areNeeded ||= channel.sdkTransport.hasPerRequestStream !== true;
      const calls = new RelayedCalls({ server, channel, turns });
      calls.answer();
      return { ...none.attach(channel, server), calls };
    },
  };
}
