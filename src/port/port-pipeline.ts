/** Connects the call pipeline to the connections and the catalog of one port. */
import type { Catalog } from "../catalog/catalog.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { Artifacts } from "../execution/artifacts/artifact-store.js";
import { createPipeline, type Pipeline } from "../execution/pipeline.js";
import type { TaskRuns } from "../execution/tasks/task-runs.js";
import type { Session } from "../protocol/session.js";
import type { TraceMeta } from "../telemetry/open-telemetry.js";
import type { RequestFacts, ServerFacts } from "../telemetry/open-telemetry-attributes.js";
import type { MalformedCounts } from "./malformed-counts.js";
import type { PortVariants } from "./port-variants.js";
import type { SharedParts } from "./shared-parts.js";

/** The part of a port that its pipeline needs. */
interface PipelineHost {
  readonly parts: SharedParts;
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly malformed: MalformedCounts;
  readonly tasks: { readonly runs: TaskRuns };
  readonly variants: PortVariants;
  readonly artifacts: Artifacts;
  /** Connects a server and makes its tools known. */
  listed(
    connection: ServerConnection,
    wait: WaitOptions & { patient?: boolean | undefined },
  ): Promise<unknown>;
  reread(connection: ServerConnection, wait: WaitOptions): Promise<void>;
  trace<Result>(
    session: Session,
    facts: Omit<RequestFacts, keyof ServerFacts>,
    run: (meta: TraceMeta | undefined) => Promise<Result>,
  ): Promise<Result>;
}

export function createPortPipeline(port: PipelineHost): Pipeline {
  const { pool, catalog, parts } = port;
  const { settings, telemetry, observe, validator, report } = parts;
  return createPipeline({
    connections: pool,
    catalog,
    telemetry,
    observe,
    validator,
    checkArguments: settings.checkArguments,
    onContradiction: parts.warnOfSchema,
    interceptors: settings.interceptors,
    approve: settings.approve,
    retry: settings.retry,
    breaker: settings.breaker,
    limits: {
      ...(settings.concurrency !== undefined && { concurrency: settings.concurrency }),
      ...(settings.rateLimit !== undefined && { rateLimit: settings.rateLimit }),
      ...(settings.maxQueue !== undefined && { maxQueue: settings.maxQueue }),
    },
    maxResultBytes: settings.maxResultBytes,
    artifacts: () => port.artifacts,
    beforeFallback: settings.beforeFallback,
    findTool: async (server, sourceName, { options, deadline, patient }) => {
      const connection = pool.get(server);
      const limitMs = options.timeoutMs ?? connection?.config.timeoutMs ?? settings.timeoutMs;
      const timeoutMs = Math.min(limitMs, deadline - performance.now());
      if (connection !== undefined && !catalog.knows(server))
        await port.listed(connection, { signal: options.signal, timeoutMs, patient });
      return catalog.find(server, sourceName)?.info;
    },
    refresh: (connection, signal) => port.reread(connection, { signal }),
    connectionFor: (connection, relay, wait) => port.variants.connectionFor(connection, relay, wait),
    timeoutMs: settings.timeoutMs,
    onProgress: parts.onProgress,
    report,
    dropsOf: (callback) => parts.drops.of(callback),
    onMalformed: (connection, { tool }, malformed) =>
      port.malformed.add(connection, tool.sourceName, malformed),
    tasks: port.tasks.runs,
    trace: ({ call, session }, run) =>
      port.trace(session, { method: "tools/call", tool: call.tool.sourceName, args: call.args }, run),
  });
}
