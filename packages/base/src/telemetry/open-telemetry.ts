/** Spans, metrics and trace context, if the program has registered an OpenTelemetry SDK. */
import type { Context, Histogram, MeterProvider, Span, SpanKind } from "@opentelemetry/api";
import { readField } from "../errors/foreign-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { canParseUrl } from "../util/text.js";

type Api = typeof import("@opentelemetry/api");

/** W3C trace context for the `_meta` of a request: `traceparent`, `tracestate`, `baggage`. */
export type TraceMeta = Record<string, string>;

/** A call with all its attempts. */
export interface ToolSpanFacts {
  /** Public name of the tool. */
  tool: string;
  /** Called after the call: the last server, the number of attempts, and the number of repairs of the arguments, and why the
   * call was suspended. */
  end: () => { server: string; attempts: number; repairs?: number; suspended?: string | undefined };
}

export type Telemetry = ReturnType<typeof createTelemetry>;

/** The global registry of version 1 of the API. Reading it does not load the package. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

const W3C_FIELDS = ["traceparent", "tracestate", "baggage"] as const;
const SCOPE = "toolport";

/** Ignores errors of the SDK and its exporters: they must not fail a call. */
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
  /** Additional attributes at the end. */
  readonly end: (failure: Attributes) => Attributes;
}

/**
 * `@opentelemetry/api` is loaded with the first call after an SDK was registered.
 *
 * @param version of this package, for the instrumentation scope
 */
export function createTelemetry({ version }: { version?: string } = {}) {
  let api: Api | undefined;
  let loading: Promise<void> | undefined;
  let isMissing = false;
  let instruments: Instruments | undefined;

  async function load(): Promise<void> {
    try {
      api = await import("@opentelemetry/api");
    } catch {
      isMissing = true;
    }
  }

  /** Runs `traced` with the API, or `plain` without it. */
  function withApi<Result>(
    traced: (api: Api) => Promise<Result>,
    plain: () => Promise<Result>,
  ): Promise<Result> {
    if (!telemetry.isActive) return plain();
    if (api !== undefined) return traced(api);
    loading ??= load();
    return loading.then(() => (api === undefined ? plain() : traced(api)));
  }

  function instrumentsOf({ metrics }: Api): Instruments {
    const provider = metrics.getMeterProvider();
    // The program may register another SDK at any time.
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
        operation: histogram("mcp.client.operation.duration", "From a request to its response"),
        session: histogram("mcp.client.session.duration", "From the handshake to the end of a session"),
      };
    }
    return instruments;
  }

  /** Only the W3C fields, and only if the program's propagator writes them. */
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
    let message: string | undefined;
    try {
      const result = await otel.context.with(context, () => run(context));
      failure = failureAttributes({ result });
      return result;
    } catch (error) {
      failure = failureAttributes({ error });
      // Messages of other errors may contain secrets.
      message = ToolportError.isInstance(error) ? error.message : undefined;
      throw error;
    } finally {
      const more = { ...failure, ...quietly(() => end(failure)) };
      quietly(() => finish(span, otel, { more, message }));
    }
  }

  const telemetry = {
    /** False: no SDK is registered, and the other methods only run their callbacks. */
    get isActive(): boolean {
      const registry = (globalThis as Record<symbol, { trace?: unknown; metrics?: unknown } | undefined>)[
        REGISTRY
      ];
      return !isMissing && (registry?.trace !== undefined || registry?.metrics !== undefined);
    },

    /** Runs a whole call in a span `execute_tool {tool}`. */
    toolCall: <Result>({ tool, end }: ToolSpanFacts, run: () => Promise<Result>): Promise<Result> =>
      withApi(
        (otel) =>
          inSpan(otel, {
            name: `execute_tool ${tool}`,
            kind: otel.SpanKind.INTERNAL,
            attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool },
            run,
            end: () => {
              const { server, attempts, repairs, suspended } = end();
              return {
                "toolport.server": server,
                "toolport.attempts": attempts,
                ...(repairs && { "toolport.repairs": repairs }),
                ...(suspended && { "toolport.suspended": suspended }),
              };
            },
          }),
        run,
      ),

    /** Runs one request in a span `{method} {tool}` and records its duration. `run` gets the trace context for `_meta`. */
    attempt: <Result>(
      facts: RequestFacts,
      run: (meta: TraceMeta | undefined) => Promise<Result>,
    ): Promise<Result> =>
      withApi(
        (otel) => {
          const startedAt = performance.now();
          const attributes = requestAttributes(facts);
          return inSpan(otel, {
            name: requestSpanName(facts),
            kind: otel.SpanKind.CLIENT,
            attributes: { ...attributes, ...(facts.uri !== undefined && { "mcp.resource.uri": facts.uri }) },
            run: (context) => run(metaOf(otel, context)),
            end: (failure) => {
              const seconds = (performance.now() - startedAt) / 1_000;
              quietly(() => instrumentsOf(otel).operation.record(seconds, { ...attributes, ...failure }));
              return {};
            },
          });
        },
        () => run(undefined),
      ),

    /** Records the duration of a session. */
    sessionEnded(facts: ServerFacts, durationMs: number, error?: unknown): void {
      const failure = error === undefined ? {} : failureAttributes({ error });
      const attributes = { ...serverAttributes(facts), ...failure };
      void withApi(
        async (otel) => quietly(() => instrumentsOf(otel).session.record(durationMs / 1_000, attributes)),
        async () => {},
      );
    },
  };
  return telemetry;
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

/** Attributes of a span or a measurement. */
export type Attributes = Record<string, string | number>;

/** The server of a request. */
export interface ServerFacts {
  /** Name of the server, as configured. */
  server: string;
  /** Transport: `stdio`, `http` … */
  transport?: string | undefined;
  protocolVersion?: string | undefined;
  /** URL of the server; only host and port are recorded. */
  address?: string | undefined;
}

/** One MCP request. */
export interface RequestFacts extends ServerFacts {
  /** MCP method, e.g. `tools/call`. */
  method: string;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** Name of the prompt. */
  prompt?: string | undefined;
  /** URI of the resource. */
  uri?: string | undefined;
}

/** Bucket boundaries of both duration histograms, in seconds. */
const DURATION_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const NETWORK: Readonly<Record<string, Attributes>> = {
  stdio: { "network.transport": "pipe" },
  docker: { "network.transport": "pipe" },
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
  sse: { "network.transport": "tcp", "network.protocol.name": "http" },
  websocket: { "network.transport": "tcp", "network.protocol.name": "websocket" },
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "https:": 443,
  "wss:": 443,
  "http:": 80,
  "ws:": 80,
};

function addressAttributes(address: string | undefined): Attributes {
  if (address === undefined || !canParseUrl(address)) return {};
  const { hostname, port, protocol } = new URL(address);
  const number = port === "" ? DEFAULT_PORTS[protocol] : Number(port);
  return { "server.address": hostname, ...(number !== undefined && { "server.port": number }) };
}

/** Does not include the session id, which is a secret. */
const serverAttributes = ({ server, transport, protocolVersion, address }: ServerFacts): Attributes => ({
  "toolport.server": server,
  ...(transport !== undefined && NETWORK[transport]),
  ...(protocolVersion && { "mcp.protocol.version": protocolVersion }),
  ...addressAttributes(address),
});

/** Attributes for metrics: their cardinality is limited to servers, tools and prompts. */
const requestAttributes = (facts: RequestFacts): Attributes => ({
  "mcp.method.name": facts.method,
  "jsonrpc.protocol.version": "2.0",
  ...(facts.tool !== undefined && {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": facts.tool,
  }),
  ...(facts.prompt !== undefined && { "gen_ai.prompt.name": facts.prompt }),
  ...serverAttributes(facts),
});

/** Span name: the method and its tool or prompt. URIs are left out to limit the cardinality. */
const requestSpanName = ({ method, tool, prompt }: RequestFacts): string =>
  [method, tool ?? prompt].filter((part) => part !== undefined).join(" ");

/** Attributes of a failure; empty for success. */
function failureAttributes(ending: { error: unknown } | { result: unknown }): Attributes {
  if ("result" in ending)
    return readField(ending.result, "isError") === true ? { "error.type": "tool_error" } : {};
  const { error } = ending;
  if (ToolportError.isInstance(error)) {
    const rpcCode = readField(error, "rpcCode");
    return {
      "error.type": error.code,
      ...(typeof rpcCode === "number" && { "rpc.response.status_code": String(rpcCode) }),
    };
  }
  // The error may be the caller's own abort reason.
  const name = readField(error, "name");
  return { "error.type": typeof name === "string" && name !== "" ? name : "_OTHER" };
}
