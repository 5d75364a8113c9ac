/** Connects the call pipeline to the connections and the catalog of one port. */
import { createPipeline, type Pipeline } from "../execution/pipeline.js";
import type { Port } from "./port.js";

export function createPortPipeline(port: Port): Pipeline {
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
    beforeFallback: settings.beforeFallback,
    findTool: async (server, sourceName, { options, deadline, patient }) => {
      const connection = pool.get(server);
      const limitMs = options.timeoutMs ?? connection?.config.timeoutMs ?? settings.timeoutMs;
      const timeoutMs = Math.min(limitMs, deadline - performance.now());
      if (connection !== undefined && !catalog.knows(server))
        await connection.acquire({ signal: options.signal, timeoutMs, patient });
      return catalog.find(server, sourceName)?.info;
    },
    refresh: (connection, signal) => port.reread(connection, { signal }),
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
