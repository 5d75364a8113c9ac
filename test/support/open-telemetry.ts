/** OpenTelemetry as a host sets it up, with exporters that keep everything in memory. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type ContextManager,
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type TextMapPropagator,
  trace,
} from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

class StorageContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager["with"] = (active, action, self, ...args) =>
    this.#storage.run(active, () => action.apply(self as never, args));
  bind: ContextManager["bind"] = (_active, target) => target;
  enable = () => this;
  disable = () => this;
}

/** Writes trace context and baggage, and a header that is not a W3C standard. */
const propagator: TextMapPropagator = {
  inject(active, carrier, setter) {
    const span = trace.getSpanContext(active);
    if (span === undefined) return;
    setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-01`);
    setter.set(carrier, "x-b3-traceid", span.traceId);
    const baggage = propagation.getBaggage(active)?.getAllEntries() ?? [];
    if (baggage.length > 0)
      setter.set(carrier, "baggage", baggage.map(([key, { value }]) => `${key}=${value}`).join(","));
  },
  extract: (active) => active,
  fields: () => ["traceparent", "baggage"],
};

/** An exported measurement. */
export interface Measured {
  name: string;
  unit: string;
  attributes: Record<string, unknown>;
  count: number;
  sum: number;
}

export interface TestTelemetry {
  /** Ended spans, in the order of their start. */
  spans(): ReadableSpan[];
  measured(): Promise<Measured[]>;
  dispose(): Promise<void>;
}

/** Registers everything globally; `dispose` removes it. */
export function registerOpenTelemetry(): TestTelemetry {
  const spanExporter = new InMemorySpanExporter();
  // The clock is too coarse to order spans by start time.
  const begun: string[] = [];
  const order: SpanProcessor = {
    onStart: (span) => void begun.push(span.spanContext().spanId),
    onEnd() {},
    async forceFlush() {},
    async shutdown() {},
  };
  const tracers = new BasicTracerProvider({ spanProcessors: [order, new SimpleSpanProcessor(spanExporter)] });
  const position = (span: ReadableSpan) => begun.indexOf(span.spanContext().spanId);
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  });
  const meters = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
  context.setGlobalContextManager(new StorageContextManager());
  propagation.setGlobalPropagator(propagator);
  return {
    spans: () => [...spanExporter.getFinishedSpans()].sort((a, b) => position(a) - position(b)),
    async measured() {
      await reader.forceFlush();
      const latest = metricExporter.getMetrics().at(-1);
      return (latest?.scopeMetrics ?? []).flatMap((scope) =>
        scope.metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => ({
            name: descriptor.name,
            unit: descriptor.unit,
            attributes,
            ...(value as { count: number; sum: number }),
          })),
        ),
      );
    },
    async dispose() {
      for (const api of [trace, metrics, context, propagation]) api.disable();
      await Promise.all([tracers.shutdown(), meters.shutdown()]);
    },
  };
}
