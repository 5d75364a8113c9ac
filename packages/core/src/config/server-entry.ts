/** The entries of `mcpServers` as users write them, before they are checked and normalised. */
import type {
  AuthProvider,
  ClientOptions,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import type { LogLevel, ServerRef, ToolFilter, ToolportError } from "@toolport/base";
import type { ProxyOption } from "@toolport/http/proxy-option";
import type { OAuthOptions } from "./read-oauth.js";

/** A call that has failed on one server. */
export interface FailedCall {
  /** The server that failed. */
  readonly server: ServerRef;
  readonly tool: {
    /** Its public name. */
    readonly name: string;
    /** Its name on the server. */
    readonly sourceName: string;
  };
  readonly args: Readonly<Record<string, unknown>>;
  /** How often the call was sent so far, to all servers together. */
  readonly attempts: number;
  /** The caller's `context`. */
  readonly context?: unknown;
}

/**
 * Decides whether a failure is transient. `undefined` leaves the decision to Toolport. It is synchronous; a promise counts as
 * `undefined`.
 *
 * @example
 * ```ts
 * const isServerBusy: FailurePredicate = (error) =>
 *   error instanceof ToolCallError && error.rpcCode === -32050 ? true : undefined;
 * ```
 */
export type FailurePredicate = (error: ToolportError, call: FailedCall) => boolean | undefined;

/** The protocol revisions that Toolport may use. */
export type ProtocolChoice = "auto" | "legacy" | { readonly pin: string };

/** How Toolport restores a lost connection. */
export interface ReconnectOptions {
  /** Reconnect automatically after a lost connection. @default true */
  enabled?: boolean;
  /**
   * How often the server may be connected again, in the background and for calls together. All attempts count, also those that
   * succeed, until the server has been ready for 60 s. `connectServer(name)` and `connect()` begin again.
   * @default unlimited (stdio, Docker: 5 starts in 60 s)
   */
  maxAttempts?: number;
  /**
   * A fixed wait before the second and every further attempt. The first attempt is immediate if a call waits for the server.
   * @default a random wait: 0 to 1 s before the first attempt; every failure doubles the upper limit, up to 60 s
   */
  delayMs?: number;
}

/** Header values, or a function that returns them before every request. */
export type HeadersOption =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** The progress of a call, as the server reports it. */
export interface ProgressReport {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
  /** `_meta` of the report. @default none */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** How long lists are cached: until the server announces a change (`true`), at most `ttlMs`, or not at all (`false`). */
export type CacheOption = boolean | { readonly ttlMs: number };

/** The servers that Toolport tries when this one fails. Name only servers that may receive the same calls. */
export type FallbackOption =
  | string
  | readonly string[]
  | {
      readonly servers: string | readonly string[];
      /** Tools that have another name on the other servers: `{ nameHere: "nameThere" }`. @default the same name */
      readonly tools?: Readonly<Record<string, string>>;
      /**
       * The failures after which the next server is tried. `"transient"`: every failure that can pass. `"unsent"`: only if
       * the first server cannot have run the call. A function decides for each failure, and may also accept failures that
       * Toolport treats as final.
       * @default "transient"
       * @example
       * ```ts
       * { servers: "b", when: (error) => (error.code === "PROTOCOL" ? true : undefined) }
       * ```
       */
      readonly when?: "transient" | "unsent" | FailurePredicate;
    };

/**
 * How Toolport treats arguments that do not match the schema of a tool. `"repair"` corrects unambiguous mistakes and rejects
 * other arguments, `"strict"` rejects all of them, `"off"` sends them unchecked.
 */
export type CheckArguments = "repair" | "strict" | "off";

/** Network options of servers that have an address. */
export interface NetworkOptions {
  /**
   * The proxy for every request to this server and to its authorization server: `"env"`, a URL, or `false`. A URL applies to
   * every target. The proxies of the environment are not used for loopback targets and for those in `NO_PROXY`. See
   * docs/transports.md#proxies.
   * @default `proxy` of the port
   * @example
   * ```ts
   * { url: "https://example.com/mcp", proxy: "http://proxy.example:3128" }
   * ```
   */
  proxy?: ProxyOption | URL;
}

/** The options of every kind of server. */
export interface CommonServerEntry {
  /** `false`: the server is listed, but Toolport never connects to it. @default true */
  enabled?: boolean;
  /**
   * Fail a request if the server sends neither a response nor progress for this long. `Infinity`: no limit.
   * @default `timeoutMs` of the port
   */
  timeoutMs?: number;
  /**
   * Timeouts of single tools, by name or glob: `{ "render_*": 120000 }`. The first pattern that matches applies.
   * @default none
   */
  toolTimeoutsMs?: Readonly<Record<string, number>>;
  /**
   * The servers to try when this one fails: `"b"`, `["b", "c"]` or `{ servers, tools, when }`. See
   * docs/fallback-and-retries.md#fallback.
   * @default none
   */
  fallback?: FallbackOption;
  /** Offer only these tools of this server, by name or glob. See docs/catalog.md#filters. @default all tools */
  only?: readonly string[];
  /** Offer all tools of this server except these, by name or glob. See docs/catalog.md#filters. @default none */
  except?: readonly string[];
  /**
   * Offer only tools for which this function returns true. It is called as `filter(server, tool)`. See
   * docs/catalog.md#filters.
   * @default all tools
   */
  filter?: ToolFilter;
  /**
   * How long the lists of this server are cached: until it announces a change (`true`), at most `{ ttlMs }`, or not at all
   * (`false`). See docs/catalog.md#how-long-lists-are-kept.
   * @default `cache` of the port
   */
  cache?: CacheOption;
  /**
   * Whether models find the tools of this server by a search instead of seeing their definitions. See docs/context.md.
   * @default `deferTools` of the port
   * @example
   * ```ts
   * { url: "https://gitlab.example.com/mcp", defer: true }
   * ```
   */
  defer?: boolean;
  /**
   * Trust the annotations of this server's tools: read-only tools need no approval, idempotent ones may be retried.
   * @default false
   */
  trustAnnotations?: boolean;
  /**
   * How arguments are treated that do not match the schema of a tool: `"repair"`, `"strict"` or `"off"`. See
   * docs/calls.md#arguments-are-checked-and-repaired.
   * @default `checkArguments` of the port
   * @example
   * ```ts
   * { url: "https://example.com/mcp", checkArguments: "strict" }
   * ```
   */
  checkArguments?: CheckArguments;
  /** Maximum number of calls at the same time on this server. @default `concurrency` of the port */
  concurrency?: number;
  /** Maximum number of calls per second on this server: `{ perSecond, burst }`. @default `rateLimit` of the port */
  rateLimit?: { readonly perSecond: number; readonly burst?: number };
  /**
   * The protocol revisions to use: all (`"auto"`), those up to 2025-11-25 (`"legacy"`), or exactly one
   * (`{ pin: "2026-07-28" }`).
   * @default "auto"
   */
  protocol?: ProtocolChoice;
  /** Receives every progress notification of this server's calls. @default none */
  onProgress?: (progress: ProgressReport) => unknown;
  /**
   * The lowest level of log messages that the server should send. See docs/server-requests.md.
   * @default `logLevel` of the port
   */
  logLevel?: LogLevel;
  /** Write connection events of this server to `logger`, at level `info`. @default false */
  logEvents?: boolean;
  /** Write every message that is sent to this server to `logger`, with secrets redacted. @default false */
  logRequests?: boolean;
  /** Write every message that this server sends to `logger`, with secrets redacted. @default false */
  logResponses?: boolean;
  /**
   * Options for the MCP SDK's client of this server: further capabilities to advertise, or a validator, which then checks
   * arguments and results too. `protocol` and the port's own list subscriptions override the same settings in here.
   * @default none
   */
  clientOptions?: ClientOptions;
}

/** A local process that speaks MCP on its standard input and output. */
export interface StdioServerEntry extends CommonServerEntry {
  transport?: "stdio" | "local";
  type?: "stdio" | "local";
  /** The program to start. It is never run through a shell. */
  command: string;
  /** Arguments of the program. @default [] */
  args?: readonly string[];
  /**
   * Environment variables, merged over a short list of inherited ones: safe variables (`PATH`, `HOME`, …) and those for
   * proxies and certificates. `as(user, { env })` adds variables of one user. See docs/transports.md#stdio.
   * @default {}
   */
  env?: Readonly<Record<string, string>>;
  /** Pass all environment variables of this process to the server. @default false */
  inheritEnv?: boolean;
  /** Working directory of the process. @default the working directory of this process */
  cwd?: string;
  /** Encoding of the process's output. @default "utf8" */
  encoding?: string;
  /**
   * What to do with the process's stderr: keep its last lines for error messages (`"pipe"`), write it to the stderr of this
   * process (`"inherit"`), or drop it (`"ignore"`).
   * @default "pipe"
   */
  stderr?: "pipe" | "inherit" | "ignore";
  /**
   * How a process that ended is started again: `{ enabled, maxAttempts, delayMs }`. See docs/options.md#reconnecting.
   * @default enabled
   */
  restart?: ReconnectOptions;
}

/** The options of every server over HTTP: Streamable HTTP or legacy HTTP+SSE. */
export interface HttpServerOptions extends CommonServerEntry, NetworkOptions {
  transport?: "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "sse" | "auto" | "remote";
  type?: HttpServerOptions["transport"];
  /**
   * Header fields of every request: an object, or an async function that is called before every request (WebSocket: before
   * every connection).
   * @default {}
   */
  headers?: HeadersOption;
  /** An `AuthProvider` or `OAuthClientProvider` of the MCP SDK, which then obtains and refreshes the tokens. @default none */
  authProvider?: AuthProvider | OAuthClientProvider;
  /**
   * OAuth managed by the port: tokens are kept in its store and refreshed once for all processes. `true` discovers what the
   * server needs, `false` turns OAuth off, an object sets options. See docs/oauth.md.
   * @default on if the port has a `callbackUrl` or a `store`
   */
  oauth?: OAuthOptions | boolean;
  /**
   * Try legacy HTTP+SSE if Streamable HTTP fails with a 4xx status that is not about credentials or load: first at the same
   * URL, then, if it ends in `/mcp`, at `/sse` beside it.
   * @default true
   */
  automaticSSEFallback?: boolean;
  /**
   * Maximum number of sockets for requests to this server's origin. Further requests wait. `Infinity`: no limit. Streams that
   * stay open do not count.
   * @default `maxSockets` of the port
   * @example
   * ```ts
   * { url: "https://example.com/mcp", maxSockets: 32 }
   * ```
   */
  maxSockets?: number;
  /**
   * How a lost connection is restored: `{ enabled, maxAttempts, delayMs }`. See docs/options.md#reconnecting.
   * @default enabled
   */
  reconnect?: ReconnectOptions;
}

/** A server reached over HTTP. */
export interface HttpServerEntry extends HttpServerOptions {
  /** The URL of the MCP endpoint. */
  url: string | URL;
}

/** A server over legacy HTTP+SSE, with the older spelling of its address. */
export interface SseUrlServerEntry extends HttpServerOptions {
  /** The URL of the MCP endpoint of a server over legacy HTTP+SSE. */
  sseUrl: string | URL;
}

/** A server reached over HTTP, with its address in two parts. */
export interface BaseUrlServerEntry extends HttpServerOptions {
  /** The URL of the server, to which `endpoint` is appended. */
  base_url: string;
  /**
   * The path of the MCP endpoint, with `base_url`.
   * @default "/mcp" ("/sse" for legacy HTTP+SSE), or none if `base_url` has a path
   */
  endpoint?: string;
}

/** A server reached over WebSocket (`ws:` or `wss:`). */
export interface WebSocketServerEntry extends CommonServerEntry, NetworkOptions {
  transport?: "websocket" | "ws";
  type?: "websocket" | "ws";
  /** The URL of the MCP endpoint. */
  url: string | URL;
  /**
   * Header fields of the opening request: an object, or an async function that is called before every connection.
   * @default {}
   */
  headers?: HeadersOption;
  /**
   * How a lost connection is restored: `{ enabled, maxAttempts, delayMs }`. See docs/options.md#reconnecting.
   * @default enabled
   */
  reconnect?: ReconnectOptions;
}

/** A stdio server distributed as a container image. */
export interface DockerServerEntry extends CommonServerEntry {
  transport?: "docker";
  type?: "docker";
  /** The container image, with a tag or digest. */
  image: string;
  /** Arguments of the program in the container. @default [] */
  args?: readonly string[];
  /**
   * Environment variables of the container. They are passed by name, so that their values never appear in a process list.
   * See docs/docker.md#variables.
   * @default {}
   */
  env?: Readonly<Record<string, string>>;
  /** Bind mounts, `source:target[:options]`. @default [] */
  mounts?: readonly string[];
  /** Further arguments of `docker run`, before the image: `["--network", "none"]`. @default [] */
  runArgs?: readonly string[];
  /**
   * The container engine: `"docker"`, `"podman"`, `"podman-remote"`, or a path to a program with the same command line.
   * @default "docker"
   */
  engine?: string;
  /** The address of the engine: `unix:///var/run/docker.sock`, `tcp://…`, `ssh://…`. @default the default of the engine */
  dockerHost?: string;
  /**
   * How a container that ended is started again: `{ enabled, maxAttempts, delayMs }`. See docs/options.md#reconnecting.
   * @default enabled
   */
  restart?: ReconnectOptions;
}

/** Any implementation of the SDK's `Transport` interface. */
export interface CustomServerEntry extends CommonServerEntry {
  /** Creates the transport of one connection. */
  transport: () => Transport | Promise<Transport>;
  /**
   * How a lost connection is restored: `{ enabled, maxAttempts, delayMs }`. See docs/options.md#reconnecting.
   * @default enabled
   */
  reconnect?: ReconnectOptions;
}

/** The fields that say how a server is reached. */
type Reach = "command" | "url" | "sseUrl" | "base_url" | "endpoint" | "image";

/** Entries with only one of these fields: `{ url, command }` is a type error. */
export type ReachedOneWay<Entry> = Entry extends unknown
  ? Entry & { [Key in Exclude<Reach, keyof Entry>]?: undefined }
  : never;

/** One server in `mcpServers`. One of the fields `command`, `url`, `image` or `transport` says how it is reached. */
export type ServerEntry = ReachedOneWay<
  | StdioServerEntry
  | HttpServerEntry
  | SseUrlServerEntry
  | BaseUrlServerEntry
  | WebSocketServerEntry
  | DockerServerEntry
  | CustomServerEntry
>;
