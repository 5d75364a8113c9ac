/** Ties the call pipeline to the connections and the catalog of one port. */
import { createPipeline, type Pipeline } from "../execution/pipeline.js";
import type { Port } from "./port.js";

export function createPortPipeline(port: Port): Pipeline {
  const { settings, telemetry, around, validator, report } = port.parts;
  return createPipeline({
    telemetry,
    around,
    validator,
    checkArguments: settings.checkArguments,
    onContradiction: port.parts.warnOfSchema,
    configOf: (server) => port.pool.get(server)?.config,
    isDown: (server) => {
      const state = port.pool.get(server)?.state;
      return state === undefined || (state.status === "closed" && state.by !== "idleness");
    },
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
      const connection = port.pool.get(server);
      const limitMs = options.timeoutMs ?? connection?.config.timeoutMs ?? settings.timeoutMs;
      const timeoutMs = Math.min(limitMs, deadline - performance.now());
      if (connection !== undefined && !port.catalog.knows(server))
        await connection.acquire({ signal: options.signal, timeoutMs, patient });
      return port.catalog.find(server, sourceName)?.info;
    },
    attempt: {
      connectionOf: (server) => port.pool.require(server),
      sourceOf: (server, sourceName) => port.catalog.find(server, sourceName),
      refresh: (server, { options }) => port.reread(port.pool.require(server), { signal: options.signal }),
      timeoutMs: settings.timeoutMs,
      onProgress: port.parts.onProgress,
      report,
      dropsOf: (callback) => port.parts.drops.of(callback),
      onMalformed: (connection, { tool }, malformed) =>
        port.malformed.add(connection, tool.sourceName, malformed),
      tasks: port.tasks.runs,
      isTraced: () => telemetry.isActive,
      trace: ({ call, session }, run) =>
        port.trace(session, { method: "tools/call", tool: call.tool.sourceName, args: call.args }, run),
    },
  });
}
