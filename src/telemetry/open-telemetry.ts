/** Spans, durations and trace context for whoever has set up OpenTelemetry; for everybody else, nothing at all. */
import type { Context, Histogram, MeterProvider, Span, SpanKind } from "@opentelemetry/api";
import { ToolportError } from "../errors/toolport-error.js";
import {
  type Attributes,
  DURATION_BUCKETS,
  failureAttributes,
  type RequestFacts,
  requestAttributes,
  requestSpanName,
  type ServerFacts,
  serverAttributes,
} from "./open-telemetry-attributes.js";
import { describeMessage } from "./wire-log.js";

type Api = typeof import("@opentelemetry/api");

export interface TelemetryOptions {
  /** Show arguments and results in spans, secret-looking fields blanked and long text cut. @default false */
  captureContent?: boolean;
  /** Version of this package, for the scope of spans and measurements. */
  version?: string;
}

/** W3C trace context for the `_meta` of a request: `traceparent`, `tracestate`, `baggage`, as far as there are any. */
export type TraceMeta = Record<string, string>;

/** What is learned about a request only while it is made. */
export interface LateFacts {
  requestId?: string | number;
  protocolVersion?: string;
}

/** A call as its caller sees it, whatever is tried for it. */
export interface ToolSpanFacts {
  /** Public name of the tool. */
  tool: string;
  /** Asked when the call is over: the server asked last, how often one was asked, and how many repairs the arguments took. */
  end: () => { server: string; attempts: number; repairs?: number };
}

export interface Telemetry {
  /** False: nobody listens, and the other methods only run what they are given. */
  readonly isActive: boolean;
  /** Runs a whole call in a span `execute_tool {tool}`. */
  toolCall<Result>(facts: ToolSpanFacts, run: () => Promise<Result>): Promise<Result>;
  /** Runs one request in a span `{method} {tool}`, and measures it. `run` gets what belongs into its `_meta`, if anything. */
  attempt<Result>(
    facts: RequestFacts,
    run: (meta: TraceMeta | undefined, note: (late: LateFacts) => void) => Promise<Result>,
  ): Promise<Result>;
  /** Measures a session that is over. */
  sessionEnded(facts: ServerFacts, durationMs: number, error?: unknown): void;
  /** Trace context of the span that is active now. */
  traceMeta(): TraceMeta | undefined;
}

/** Where every copy of version 1 of the API keeps what an SDK registers: looking costs nothing and loads nothing. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

function isRegistered(): boolean {
  const registry = (globalThis as Record<symbol, { trace?: unknown; metrics?: unknown } | undefined>)[
    REGISTRY
  ];
  return registry?.trace !== undefined || registry?.metrics !== undefined;
}

const W3C_FIELDS = ["traceparent", "tracestate", "baggage"] as const;
const SCOPE = "toolport";
const ignore = (): void => {};

/** What an exporter throws is not the call's fault. */
function quietly<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

interface Instruments {
  readonly provider: MeterProvider;
  readonly operation: Histogram;
  readonly session: Histogram;
}

interface SpanPlan<Result> {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly run: (context: Context) => Promise<Result>;
  /** More attributes, once it is over. */
  readonly end: (failure: Attributes, result: Result | undefined) => Attributes;
}

/** Makes the door to OpenTelemetry. `@opentelemetry/api` is loaded when an SDK is there and a call is made. */
export function createTelemetry({ captureContent = false, version }: TelemetryOptions = {}): Telemetry {
  let api: Api | undefined;
  let loading: Promise<void> | undefined;
  let isMissing = false;
  let instruments: Instruments | undefined;

  const isActive = (): boolean => !isMissing && isRegistered();

  async function load(): Promise<void> {
    try {
      api = await import("@opentelemetry/api");
    } catch {
      isMissing = true;
    }
  }

  /** Runs `traced` with the API, or `plain` where there is none. */
  function withApi<Result>(
    traced: (api: Api) => Promise<Result>,
    plain: () => Promise<Result>,
  ): Promise<Result> {
    if (!isActive()) return plain();
    if (api !== undefined) return traced(api);
    loading ??= load();
    return loading.then(() => (api === undefined ? plain() : traced(api)));
  }

  function instrumentsOf({ metrics }: Api): Instruments {
    const provider = metrics.getMeterProvider();
    // An SDK may be registered, or another one, after the first call.
    if (instruments?.provider !== provider) {
      const meter = provider.getMeter(SCOPE, version);
      const histogram = (name: string, description: string) =>
        meter.createHistogram(name, {
          description,
          unit: "s",
          advice: { explicitBucketBoundaries: DURATION_BUCKETS },
        });
      instruments = {
        provider,
        operation: histogram("mcp.client.operation.duration", "From a request to its answer"),
        session: histogram("mcp.client.session.duration", "From the handshake to the end of a session"),
      };
    }
    return instruments;
  }

  /** Only the fields of W3C, and only if the host's propagator writes them: whoever turned it off wants it off. */
  function metaOf({ propagation }: Api, context: Context): TraceMeta | undefined {
    const carrier: Record<string, unknown> = {};
    quietly(() => propagation.inject(context, carrier));
    const found = W3C_FIELDS.filter((field) => typeof carrier[field] === "string" && carrier[field] !== "");
    return found.length > 0
      ? Object.fromEntries(found.map((field) => [field, carrier[field] as string]))
      : undefined;
  }

  async function inSpan<Result>(
    otel: Api,
    { name, kind, attributes, run, end }: SpanPlan<Result>,
  ): Promise<Result> {
    const parent = otel.context.active();
    const span = quietly(() =>
      otel.trace.getTracer(SCOPE, version).startSpan(name, { kind, attributes }, parent),
    );
    const context = span === undefined ? parent : otel.trace.setSpan(parent, span);
    let failure: Attributes = {};
    let result: Result | undefined;
    let message: string | undefined;
    try {
      result = await otel.context.with(context, () => run(context));
      failure = failureAttributes({ result });
      return result;
    } catch (error) {
      failure = failureAttributes({ error });
      // Only our own messages are known to hold no secret.
      message = ToolportError.isInstance(error) ? error.message : undefined;
      throw error;
    } finally {
      const more = { ...failure, ...quietly(() => end(failure, result)) };
      quietly(() => finish(span, otel, { more, message }));
    }
  }

  return {
    get isActive() {
      return isActive();
    },

    toolCall: ({ tool, end }, run) =>
      withApi(
        (otel) =>
          inSpan(otel, {
            name: `execute_tool ${tool}`,
            kind: otel.SpanKind.INTERNAL,
            attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool },
            run,
            end: () => {
              const { server, attempts, repairs } = end();
              return {
                "toolport.server": server,
                "toolport.attempts": attempts,
                ...(repairs && { "toolport.repairs": repairs }),
              };
            },
          }),
        run,
      ),

    attempt: (facts, run) =>
      withApi(
        (otel) => {
          const startedAt = performance.now();
          const late: LateFacts = {};
          const attributes = requestAttributes(facts);
          const shown = (name: string, value: unknown): Attributes =>
            captureContent && value !== undefined ? { [name]: describeMessage(value) } : {};
          return inSpan(otel, {
            name: requestSpanName(facts),
            kind: otel.SpanKind.CLIENT,
            attributes: {
              ...attributes,
              ...(facts.uri !== undefined && { "mcp.resource.uri": facts.uri }),
              ...shown("gen_ai.tool.call.arguments", facts.args),
            },
            run: (context) => run(metaOf(otel, context), (more) => void Object.assign(late, more)),
            end: (failure, result) => {
              const { requestId, protocolVersion } = late;
              const revision: Attributes = protocolVersion ? { "mcp.protocol.version": protocolVersion } : {};
              const seconds = (performance.now() - startedAt) / 1_000;
              quietly(() =>
                instrumentsOf(otel).operation.record(seconds, { ...attributes, ...revision, ...failure }),
              );
              return {
                ...revision,
                ...(requestId !== undefined && { "jsonrpc.request.id": String(requestId) }),
                ...shown("gen_ai.tool.call.result", result),
              };
            },
          });
        },
        () => run(undefined, ignore),
      ),

    sessionEnded(facts, durationMs, error) {
      const failure = error === undefined ? {} : failureAttributes({ error });
      const attributes = { ...serverAttributes(facts), ...failure };
      void withApi(
        async (otel) => quietly(() => instrumentsOf(otel).session.record(durationMs / 1_000, attributes)),
        async () => {},
      );
    },

    traceMeta: () => (api === undefined || !isActive() ? undefined : metaOf(api, api.context.active())),
  };
}

function finish(
  span: Span | undefined,
  { SpanStatusCode }: Api,
  { more, message }: { more: Attributes; message: string | undefined },
): void {
  span?.setAttributes(more);
  if (more["error.type"] !== undefined)
    span?.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  span?.end();
}
