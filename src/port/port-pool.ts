/** Creates the connections of a port from its options, its credentials, its catalog and its events. */
import type { Catalog } from "../catalog/catalog.js";
import { toDiscoveryError } from "../catalog/discovery-error.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ConnectionParts } from "../connection/connection-parts.js";
import { ConnectionPool } from "../connection/connection-pool.js";
import type { StateChange } from "../connection/connection-state.js";
import { classifyError } from "../errors/classify-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { EraMemory, type RememberedEra } from "../protocol/era-memory.js";
import type { ServerRequests } from "../protocol/server-requests/server-requests.js";
import type { Session } from "../protocol/session.js";
import type { ServerFacts } from "../telemetry/open-telemetry-attributes.js";
import { createWireLog } from "../telemetry/wire-log.js";
import type { HttpClient } from "../transports/server-transport.js";
import type { PortOAuth } from "./port-oauth.js";
import { configFor, type Principal } from "./principal.js";
import type { SharedParts } from "./shared-parts.js";
import { messageEvents, stderrEvents } from "./wire-events.js";

/** The part of a port that its connections need. */
export interface PoolHost {
  readonly parts: SharedParts;
  readonly principal: Principal | undefined;
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly isLean: boolean;
  readonly lean: { shareEra(era: RememberedEra): RememberedEra };
  readonly lists: { connected(session: Session): void };
  readonly oauth: PortOAuth;
  readonly serverRequests: ServerRequests;
  http(config: ServerConfig): Promise<HttpClient>;
  factsOf(session: Session): ServerFacts;
  connectionChanged(server: string, to: "ready" | "closed"): void;
  serverSilent(server: string, error: ToolportError): void;
  resourceChanged(server: string, uri?: string): void;
}

export function createPortPool(port: PoolHost): ConnectionPool {
  return new ConnectionPool(connectionPartsOf(port), (config) => configFor(config, port.principal));
}

/** What every connection of the port needs. */
export function connectionPartsOf(port: PoolHost): ConnectionParts {
  const { parts, principal } = port;
  const { settings, emitter } = parts;
  const reported = new Set<string>();
  return {
    identity: { clientInfo: settings.clientInfo, capabilities: port.serverRequests.capabilities },
    serverRequests: port.serverRequests,
    validator: parts.validator,
    // Without a configured store the results would stay in memory when the user is gone.
    eras: new EraMemory(settings.store, principal?.name, { storesPrivate: !port.isLean || settings.isSaved }),
    logLevelOf: ({ logLevel = settings.logLevel }, era) =>
      logLevel ?? (era === "modern" && settings.hasLogReader ? "info" : undefined),
    connectTimeoutMs: settings.connectTimeoutMs,
    transportContext: async (config) => ({
      http: await port.http(config),
      proxy: parts.networkOf(config).proxy,
      maxMessageBytes: settings.maxMessageBytes,
      onStderr: stderrEvents(port, config),
      authorize: port.oauth.authorize,
    }),
    hasNewCredentials: (server) => port.oauth.hasNewCredentials(server),
    isLean: port.isLean,
    shareEra: port.isLean ? (era) => port.lean.shareEra(era) : undefined,
    discover: async (session, signal) => {
      if (port.isLean) return port.lists.connected(session);
      await port.catalog.load(session, signal).catch((error: unknown) => {
        throw toDiscoveryError(error, session.server);
      });
    },
    onState: (change) => {
      noteAbsence(port, change);
      if (change.to === "closed" || change.to === "ready") port.connectionChanged(change.server, change.to);
      parts.onState({ ...change, principal: principal?.name }, port.pool.configOf(change.server));
    },
    onInvalidMessage: (server, { code, what, next }, source) => {
      const message = next === undefined ? what : `${what}. ${next}`;
      if (code !== "BAD_RESPONSE" || source === "response") return parts.warn(server, message);
      // A server prints its banner at every start; `next` identifies the kind, because the text may contain the time.
      const key = JSON.stringify([server, next]);
      if (reported.has(key)) return;
      reported.add(key);
      parts.warn(server, message, { code });
    },
    onSilent: (server, error) => port.serverSilent(server, error),
    onSessionEnded: (session, ms, error) => parts.telemetry.sessionEnded(port.factsOf(session), ms, error),
    onNotification: (server, method, params) => {
      onNotification(port, server, { method, uri: params["uri"] });
      emitter.emit("notification", { server, method, params, principal: principal?.name });
    },
    liveTap: (config) => messageEvents(port, config),
    tap: (config) => {
      const { name, logRequests, logResponses } = config;
      const { logger } = settings;
      return createWireLog({
        server: name,
        logRequests,
        logResponses,
        logger,
        redact: secretsOf(config).foreign,
      });
    },
  };
}

/** The tools of an unreachable server are taken from its fallback servers, if a fallback can handle the error. */
function noteAbsence({ catalog }: PoolHost, { server, to, error }: StateChange): void {
  if (to === "failed") catalog.setAway(server, error !== undefined && classifyError(error).useFallback);
  else if (to === "authenticating" || to === "ready") catalog.setAway(server, false);
}

/** Forgets cached resources that a notification reports as changed, and notifies subscribers. */
function onNotification(
  port: PoolHost,
  server: string,
  { method, uri }: { method: string; uri: unknown },
): void {
  if (method === "notifications/resources/list_changed") port.resourceChanged(server);
  if (method === "notifications/resources/updated" && typeof uri === "string")
    port.resourceChanged(server, uri);
}
