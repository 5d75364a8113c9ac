/** Dependencies that all users of one `createToolport` share. */

import {
  CLIENT_INFO,
  createTelemetry,
  type DropObserver,
  debugChannel,
  Emitter,
  guardLogger,
  MAX_WAITING_CALLS,
  OrderedCallback,
  type ToolInfo,
} from "@toolport/base";
import type { HttpClientSettings } from "@toolport/http/wire-client";
import { createSchemaValidator } from "@toolport/schemas/internal";
import { SharedSnapshots } from "../catalog/build-snapshot.js";
import { createFilterSet } from "../catalog/catalog.js";
import { InternedLists } from "../catalog/interned-lists.js";
import { PublicLists } from "../catalog/public-lists.js";
import type { NetworkConfig } from "../config/entry-options.js";
import type { ServerConfig } from "../config/server-config.js";
import type { StateChange } from "../connection/connection-state.js";
import { ArtifactStore } from "../execution/artifacts/artifact-store.js";
import { CALL_LISTENERS_AT_ONCE, createCallObserver } from "../execution/listeners.js";
import { logToLogger } from "../protocol/server-requests/server-request-options.js";
import { createServerRequests } from "../protocol/server-requests/server-requests.js";
import { createHttpClient } from "../transports/create-transport.js";
import type { ToolportEvents } from "./events.js";
import type { PortSettings } from "./read-options.js";

export type SharedParts = ReturnType<typeof createSharedParts>;

const MAX_REMEMBERED_TOOLS = 10_000;

const connectionDebug = debugChannel("connection");
const catalogDebug = debugChannel("catalog");

export function createSharedParts(options: PortSettings) {
  const drops = new DroppedCalls((message) => warn(undefined, message));
  const logger = guardLogger(options.logger, drops.of("logger"));
  const settings = { ...options, logger };
  const emitter = new Emitter<ToolportEvents>((name) => ({
    report: (error) => logger.warn(`A listener threw: ${String(error)}`),
    // Calls come from the program itself; servers determine the rate of all other events.
    concurrency: name === "call" ? CALL_LISTENERS_AT_ONCE : 1,
    ...drops.of(`on("${name}")`),
  }));
  const warn = (
    server: string | undefined,
    message: string,
    more: Pick<ToolportEvents["warning"], "code" | "tool"> = {},
  ) => {
    const line = server === undefined ? message : `[${server}] ${message}`;
    catalogDebug(line);
    logger.warn(line);
    emitter.emit("warning", { server, message, ...more });
  };
  const contradictions = new Set<string>();
  const report = (error: unknown) => warn(undefined, `A callback threw: ${String(error)}`);
  const ordered = <Value>(name: string, callback: (value: Value) => unknown) =>
    new OrderedCallback(callback, { report, ...drops.of(name) });
  const { onLog = logToLogger(logger), onProgress } = settings;
  const logs = ordered("onLog", onLog);
  const progress =
    onProgress && ordered("onProgress", (given: Parameters<typeof onProgress>) => onProgress(...given));
  return {
    settings,
    emitter,
    /** Filters of the options and of the plain port. They apply to every user, including those added later. */
    filters: createFilterSet(settings),
    /** Lists that servers mark as public. */
    publicLists: new PublicLists(),
    /** Equal lists of different users. */
    interned: new InternedLists(),
    /** Snapshots of users whose lists are the same. */
    snapshots: new SharedSnapshots(),
    /** Servers of tools by public name, as users have found them. */
    toolHints: new Map<string, string>(),
    /** Texts of results that were too large for a model, of all users. */
    artifacts: new ArtifactStore(),
    warn,
    /** Reports an error that a callback threw. */
    report,
    /** Warns once for each tool whose schema contradicts itself or cannot be checked in full. */
    warnOfSchema(
      { server, sourceName: tool }: Pick<ToolInfo, "server" | "sourceName">,
      message: string,
    ): void {
      const key = JSON.stringify([server, tool]);
      if (contradictions.has(key)) return;
      // Bounds the memory if a server keeps inventing names.
      if (contradictions.size >= MAX_REMEMBERED_TOOLS) contradictions.clear();
      contradictions.add(key);
      warn(server, message, { code: "SCHEMA_CONTRADICTS", tool });
    },
    telemetry: createTelemetry({ version: CLIENT_INFO.version }),
    validator: createSchemaValidator({
      validator: settings.validator,
      onSkippedPattern: (_schema, pattern) =>
        warn(undefined, `The pattern ${pattern} cannot be checked safely here`),
    }),
    /** Handles the requests of servers for one principal. */
    serverRequestsFor: (principal: string | undefined) =>
      createServerRequests({
        onElicitation: settings.onElicitation,
        onSampling: settings.onSampling,
        roots: settings.roots,
        onLog: (entry) => logs.call(entry),
        extensions: settings.extensions,
        report,
        principal,
      }),
    observe: createCallObserver({
      listeners: settings.listeners,
      emitter,
      report,
      drops: drops.of("listeners"),
    }),
    /** The option `onProgress`, called in order with a bounded queue, for all ports together. */
    onProgress:
      progress && ((...given: Parameters<NonNullable<typeof onProgress>>): void => progress.call(given)),
    /** Counts the dropped calls of slow callbacks. */
    drops,
    /** The network options of a server, or those of the port. */
    networkOf: (config: ServerConfig | NetworkConfig): Pick<HttpClientSettings, "proxy" | "maxSockets"> => ({
      proxy: (("proxy" in config && config.proxy) || settings.proxy)?.reveal() ?? "env",
      maxSockets: ("maxSockets" in config ? config.maxSockets : undefined) ?? settings.maxSockets,
    }),
    /** Creates an HTTP client. Users never share one, not even a socket. */
    createHttp: (network: HttpClientSettings) => createHttpClient({ ...network, fetch: settings.fetch }),
    onState(change: StateChange, config: ServerConfig | undefined): void {
      const line = `[${change.server}] ${change.from} -> ${change.to}: ${change.reason}`;
      connectionDebug(line);
      if (config?.logEvents) logger.info(line);
      emitter.emit("state", change);
    },
    close: () => emitter.clear(),
  };
}

/** A callback that stays too slow is reported again after this many dropped calls. */
const REPORT_EVERY = 10_000;

const figure = (count: number): string => count.toLocaleString("en-US");

/** Counts calls of callbacks that were dropped because the callback is too slow. */
class DroppedCalls {
  readonly #counts = new Map<string, number>();

  constructor(readonly warn: (message: string) => void) {}

  /** @param callback name of the option or event, for instance `onLog` */
  of(callback: string): DropObserver {
    return {
      onDropped: (count) => {
        this.#counts.set(callback, (this.#counts.get(callback) ?? 0) + 1);
        if (count !== 1 && count % REPORT_EVERY !== 0) return;
        this.warn(
          `${callback} is too slow: ${figure(MAX_WAITING_CALLS)} calls wait for its promise, and the oldest are dropped (${figure(count)} so far). Let it return sooner, or hand the work to a queue of your own`,
        );
      },
      onCaughtUp: (count) =>
        this.warn(`${callback} has caught up; ${figure(count)} of its calls were dropped meanwhile`),
    };
  }

  /** Number of dropped calls, by callback. */
  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
