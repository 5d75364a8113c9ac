/** Connects the catalog, the connections and the pipeline of a port to its options, its store and its events. */

import { classifyError, createWireLog, getOrMake } from "@toolport/base";
import { Catalog } from "../catalog/catalog.js";
import type { InternedLists } from "../catalog/interned-lists.js";
import { Pins } from "../catalog/safety/pins.js";
import { secretsOf } from "../config/known-secrets.js";
import { serverIdentity } from "../config/server-keys.js";
import type { ConnectionParts, StateChange } from "../connection/connection-state.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { createPipeline, type Pipeline, type PipelineParts } from "../execution/pipeline.js";
import type { MalformedContent } from "../execution/tool-result.js";
import { EraMemory, type RememberedEra } from "../protocol/era.js";
import type { PortCore } from "./port-core.js";
import { messageEvents, stderrEvents } from "./wire-events.js";

const LIST_TIMEOUT_MS = 15_000;

/** @param ownNames names that tools of servers must not have */
export function createPortCatalog(port: PortCore, ownNames: () => readonly string[]): Catalog {
  const { parts, principal } = port;
  const { settings, emitter, warn } = parts;
  return new Catalog({
    naming: {
      prefix: settings.prefix,
      additionalToolNamePrefix: settings.additionalToolNamePrefix,
      toolNameMapper: settings.toolNameMapper,
      toolSpecificationMapper: settings.toolSpecificationMapper,
      get reserved() {
        return ownNames();
      },
    },
    filters: port.filters,
    pins: new Pins(settings.pins, {
      store: settings.store,
      principal: principal?.name,
      identityOf: (server) => {
        const config = port.pool.configOf(server);
        return config && serverIdentity(config);
      },
    }),
    scan: settings.scan,
    cache: settings.cache,
    listTimeoutMs: LIST_TIMEOUT_MS,
    servers: () => port.configs(),
    onChanged: (server) => emitter.emit("tools", { server, principal: principal?.name }),
    snapshots: principal && { shared: parts.snapshots, filters: parts.filters },
    onRead: (...read) => void port.saved?.state.then((state) => state?.keepLists(...read)),
    onListsChanged: (server, lists) =>
      emitter.emit("listsChanged", { server, lists, principal: principal?.name }),
    onToolChanged: (change) => {
      warn(change.server, `The definition of ${change.tool} changed since it was pinned`);
      emitter.emit("toolChanged", { ...change, principal: principal?.name });
    },
    onWarning: warn,
  });
}

/** What the port does when a connection reports something. */
export interface OwnConnectionParts extends Pick<ConnectionParts, "readLists" | "onSilent"> {
  connectionChanged(server: string, to: "ready" | "closed"): void;
  /** @param uri undefined: any resource may have changed */
  resourceChanged(server: string, uri?: string): void;
}

/** What every connection of the port needs. */
export function connectionPartsOf(port: PortCore, own: OwnConnectionParts): ConnectionParts {
  const { parts } = port;
  const { settings, emitter } = parts;
  const principal = port.principal?.name;
  const reported = new Set<string>();
  return {
    identity: { clientInfo: settings.clientInfo, capabilities: port.serverRequests.capabilities },
    serverRequests: port.serverRequests,
    validator: parts.validator,
    // Without a configured store the results would stay in memory when the user is gone.
    eras: new EraMemory(settings.store, principal, {
      storesPrivate: principal === undefined || settings.isSaved,
    }),
    logLevelOf: ({ logLevel = settings.logLevel }, era) =>
      logLevel ?? (era === "modern" && settings.hasLogReader ? "info" : undefined),
    connectTimeoutMs: settings.connectTimeoutMs,
    transportContext: async (config) => ({
      http: await port.http(config),
      proxy: parts.networkOf(config).proxy,
      maxMessageBytes: settings.maxMessageBytes,
      onStderr: stderrEvents(emitter, principal, config),
      authorizedSendOf: port.oauth.authorizedSendOf,
    }),
    hasNewCredentials: (server) => port.oauth.hasNewCredentials(server),
    listens: port.reads === "connect",
    shareEra: principal === undefined ? undefined : (era) => shareEra(parts.interned, era),
    readLists: own.readLists,
    onState: (change) => {
      noteAbsence(port.catalog, change);
      if (change.to === "closed" || change.to === "ready") own.connectionChanged(change.server, change.to);
      parts.onState({ ...change, principal }, port.pool.configOf(change.server));
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
    onSilent: own.onSilent,
    onSessionEnded: (session, ms, error) => parts.telemetry.sessionEnded(port.factsOf(session), ms, error),
    onNotification: (server, method, params) => {
      const { uri } = params;
      if (method === "notifications/resources/list_changed") own.resourceChanged(server);
      if (method === "notifications/resources/updated" && typeof uri === "string")
        own.resourceChanged(server, uri);
      emitter.emit("notification", { server, method, params, principal });
    },
    liveTap: (config) => messageEvents(emitter, principal, config),
    tap: (config) => {
      const { name: server, logRequests, logResponses } = config;
      const redact = secretsOf(config).foreign;
      return createWireLog({ server, logRequests, logResponses, logger: settings.logger, redact });
    },
  };
}

/** Results of handshakes are the same for most users. */
function shareEra(interned: InternedLists, era: RememberedEra): RememberedEra {
  if (era.era === "modern") return interned.intern("era", [era])[0] as RememberedEra;
  const { resume } = era;
  if (resume === undefined) return era;
  const result = interned.intern("handshake", [resume.result])[0] as typeof resume.result;
  return { ...era, resume: { ...resume, result } };
}

/** The tools of an unreachable server are taken from its fallback servers, if a fallback can handle the error. */
function noteAbsence(catalog: Catalog, { server, to, error }: StateChange): void {
  if (to === "failed") catalog.setAway(server, error !== undefined && classifyError(error).useFallback);
  else if (to === "authenticating" || to === "ready") catalog.setAway(server, false);
}

interface OwnCallParts extends Pick<PipelineParts, "tasks" | "connectionFor" | "refresh"> {
  readonly malformed: MalformedCounts;
  /** Connects a server and makes its tools known. */
  ensureTools(
    connection: ServerConnection,
    wait: WaitOptions & { patient?: boolean | undefined },
  ): Promise<unknown>;
}

export function createPortPipeline(
  port: PortCore,
  { malformed, ensureTools, ...own }: OwnCallParts,
): Pipeline {
  const { pool, catalog, parts } = port;
  const { settings } = parts;
  const { concurrency, rateLimit, maxQueue } = settings;
  return createPipeline({
    ...own,
    connections: pool,
    catalog,
    telemetry: parts.telemetry,
    observe: parts.observe,
    validator: parts.validator,
    checkArguments: settings.checkArguments,
    onContradiction: parts.warnOfSchema,
    interceptors: settings.interceptors,
    approve: settings.approve,
    retry: settings.retry,
    breaker: settings.breaker,
    limits: { concurrency, rateLimit, maxQueue },
    maxResultBytes: settings.maxResultBytes,
    artifacts: () => port.artifacts,
    beforeFallback: settings.beforeFallback,
    findTool: async (server, sourceName, { options, deadline, patient }) => {
      const connection = pool.get(server);
      const limitMs = options.timeoutMs ?? connection?.config.timeoutMs ?? settings.timeoutMs;
      const timeoutMs = Math.min(limitMs, deadline - performance.now());
      if (connection !== undefined && !catalog.knows(server))
        await ensureTools(connection, { signal: options.signal, timeoutMs, patient });
      return catalog.find(server, sourceName)?.info;
    },
    timeoutMs: settings.timeoutMs,
    onProgress: parts.onProgress,
    report: parts.report,
    dropsOf: (callback) => parts.drops.of(callback),
    onMalformed: (connection, { tool }, content) => malformed.add(connection, tool.sourceName, content),
    trace: ({ call, session }, run) =>
      port.trace(session, { method: "tools/call", tool: call.tool.sourceName }, run),
  });
}

/** Counts malformed content in results, by server, and warns once for each tool. */
export class MalformedCounts {
  /** By connection, so that the count goes away with a removed server. */
  readonly #counts = new WeakMap<ServerConnection, { items: number; warned: Set<string> }>();

  constructor(private readonly warn: (server: string, message: string) => void) {}

  /** @param tool name of the tool on its server */
  add(connection: ServerConnection, tool: string, { count: found, items }: MalformedContent): void {
    const count = getOrMake(this.#counts, connection, () => ({ items: 0, warned: new Set<string>() }));
    count.items += found;
    if (count.warned.has(tool)) return;
    count.warned.add(tool);
    const [first] = items;
    const what = `${first?.type}: ${first?.problem}`;
    const more = found > 1 ? `, and ${found - 1} more` : "";
    this.warn(connection.name, `The result of ${tool} has malformed content (${what}${more})`);
  }

  of(connection: ServerConnection): number {
    return this.#counts.get(connection)?.items ?? 0;
  }
}
