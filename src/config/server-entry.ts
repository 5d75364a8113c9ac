/** What users write for one server: the input shapes, before they are checked and normalised. */
import type {
  AuthProvider,
  ClientOptions,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import type { ToolFilter } from "../model/listed-tool.js";
import type { LogLevel } from "../model/log-levels.js";
import type { FailurePredicate } from "./failure-predicate.js";
import type { OAuthOptions } from "./oauth-options.js";

/** Which protocol revisions may be spoken. */
export type ProtocolChoice = "auto" | "legacy" | { readonly pin: string };

/** How a lost connection is brought back. */
export interface ReconnectOptions {
  /** Bring a lost connection back by itself. @default true */
  enabled?: boolean;
  /** Attempts in a row before the server counts as failed. @default unlimited (stdio: 5 starts in 60 s) */
  maxAttempts?: number;
  /**
   * A fixed wait from the second attempt on. The first attempt is immediate if a call waits for the server.
   * @default a random wait: 0 to 1 s before the first attempt, its limit doubled by every failure, 60 s at most
   */
  delayMs?: number;
}

/** Header values, or a function that is asked before every request. */
export type HeadersOption =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** What a server reports while it works on a call. */
export interface ProgressReport {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** How long lists are kept: until the server says that they changed, for a time at most, or not at all. */
export type CacheOption = boolean | { readonly ttlMs: number };

/** Which servers may be asked instead of this one. Naming them is the caller's word that they may. */
export type FallbackOption =
  | string
  | readonly string[]
  | {
      readonly servers: string | readonly string[];
      /** Names of tools that are called otherwise on the other servers. @default the same name */
      readonly tools?: Readonly<Record<string, string>>;
      /**
       * `"unsent"`: only if the first server cannot have run the call. A function decides for each failure; it may also name
       * failures that Toolport takes for final.
       * @default "transient"
       * @example
       * ```ts
       * { servers: "b", when: (error) => (error.code === "PROTOCOL" ? true : undefined) }
       * ```
       */
      readonly when?: "transient" | "unsent" | FailurePredicate;
    };

/**
 * What happens to arguments that do not fit a tool's schema: `"repair"` corrects what takes no guess and refuses the rest,
 * `"strict"` refuses them, `"off"` sends them as they are.
 */
export type CheckArguments = "repair" | "strict" | "off";

/**
 * Through which proxy a server is reached: those of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), the
 * one at this address (`http://user:password@host:port` or `https://…`), or none.
 */
export type ProxyOption = "env" | (string & {}) | false;

/** Network options of servers that have an address. */
export interface NetworkOptions {
  /**
   * The proxy for every request to this server, its authorization included. An address applies to every target; the
   * proxies of the environment are not used for loopback targets and for those in `NO_PROXY`.
   * @default the port's `proxy`
   * @example
   * ```ts
   * { url: "https://example.com/mcp", proxy: "http://proxy.example:3128" }
   * ```
   */
  proxy?: ProxyOption | URL;
}

/** What every kind of server entry takes. */
export interface CommonServerEntry {
  /** Idle time limit of one request to this server. @default the port's `timeoutMs` */
  timeoutMs?: number;
  /** Time limits of single tools, by name or with `*` and `?`; the first that fits counts. @default none */
  toolTimeoutsMs?: Readonly<Record<string, number>>;
  /** Told of every progress report of this server's calls. @default none */
  onProgress?: (progress: ProgressReport) => unknown;
  /** Servers to ask when this one cannot answer. @default none */
  fallback?: FallbackOption;
  /** Only these tools of this server; `*` and `?` stand for anything. @default all */
  only?: readonly string[];
  /** All but these tools of this server. @default none */
  except?: readonly string[];
  /** Only tools for which it returns true. @default all */
  filter?: ToolFilter;
  /** How long this server's lists are kept. @default the port's `cache` */
  cache?: CacheOption;
  /** Believe what this server says about its tools (read-only, idempotent). @default false */
  trustAnnotations?: boolean;
  /**
   * What happens to arguments that do not fit a tool's schema.
   * @default the port's `checkArguments`
   * @example
   * ```ts
   * { url: "https://example.com/mcp", checkArguments: "strict" }
   * ```
   */
  checkArguments?: CheckArguments;
  /** Calls at once on this server. @default the port's `concurrency` */
  concurrency?: number;
  /** Calls per second on this server. @default the port's `rateLimit` */
  rateLimit?: { readonly perSecond: number; readonly burst?: number };
  /** Protocol revisions to try: both eras, only up to 2025-11-25, or one exactly. @default "auto" */
  protocol?: ProtocolChoice;
  /**
   * Given to the SDK's client of this server: more capabilities to advertise, a validator (which checks arguments and
   * results too), and the like. Which revisions are spoken is said by `protocol`, and changed lists are told by the port.
   * @default none
   */
  clientOptions?: ClientOptions;
  /** A disabled server is listed but never connected. @default true */
  enabled?: boolean;
  /**
   * How serious this server's log messages must be to be sent. @default the port's `logLevel`
   */
  logLevel?: LogLevel;
  /** Log connection events of this server at info level. @default false */
  logEvents?: boolean;
  /** Log every message sent, secrets redacted. @default false */
  logRequests?: boolean;
  /** Log every message received, secrets redacted. @default false */
  logResponses?: boolean;
}

/** A local process that speaks MCP on its standard input and output. */
export interface StdioServerEntry extends CommonServerEntry {
  transport?: "stdio" | "local";
  type?: "stdio" | "local";
  /** The program. Never run through a shell. */
  command: string;
  args?: readonly string[];
  /** Merged over a small set of safe variables (`PATH`, `HOME`, …). */
  env?: Readonly<Record<string, string>>;
  /** Give the process all variables of this one. @default false */
  inheritEnv?: boolean;
  cwd?: string;
  /** Encoding of the process's output. @default "utf8" */
  encoding?: string;
  /** What happens to the process's stderr. `"pipe"` keeps its tail for error messages. @default "pipe" */
  stderr?: "pipe" | "inherit" | "ignore";
  restart?: ReconnectOptions;
}

/** What every server over HTTP takes: Streamable HTTP, legacy HTTP+SSE, or whichever of the two it speaks. */
export interface HttpServerOptions extends CommonServerEntry, NetworkOptions {
  transport?: "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "sse" | "auto" | "remote";
  type?: HttpServerOptions["transport"];
  headers?: HeadersOption;
  /** The SDK's provider interfaces: tokens, refresh and retry after 401 are its work. */
  authProvider?: AuthProvider | OAuthClientProvider;
  /**
   * OAuth looked after by the port: tokens in its store, refreshed in time and once. `true` takes what the server
   * offers; `false` keeps the port from it.
   * @default on where the port has a `callbackUrl` or a `store`
   */
  oauth?: OAuthOptions | boolean;
  /**
   * Try legacy HTTP+SSE where Streamable HTTP is refused with a 4xx that is not about credentials or load: at the same URL,
   * then, if it ends in `/mcp`, at `/sse` beside it.
   * @default true
   */
  automaticSSEFallback?: boolean;
  /**
   * Sockets for requests to this server's origin at the same time; further requests wait. `Infinity`: no limit. Streams that
   * stay open are not counted.
   * @default the port's `maxSockets`
   * @example
   * ```ts
   * { url: "https://example.com/mcp", maxSockets: 32 }
   * ```
   */
  maxSockets?: number;
  reconnect?: ReconnectOptions;
}

/** A server reached over HTTP. */
export interface HttpServerEntry extends HttpServerOptions {
  /** The MCP endpoint. */
  url: string | URL;
}

/** A server over legacy HTTP+SSE, with the older spelling of its address. */
export interface SseUrlServerEntry extends HttpServerOptions {
  /** The MCP endpoint. */
  sseUrl: string | URL;
}

/** A server reached over HTTP, with its address in two parts. */
export interface BaseUrlServerEntry extends HttpServerOptions {
  base_url: string;
  /** A path on that server. @default "/mcp" ("/sse" for legacy HTTP+SSE), or none if `base_url` has a path */
  endpoint?: string;
}

/** A server reached over WebSocket (`ws:` or `wss:`). */
export interface WebSocketServerEntry extends CommonServerEntry, NetworkOptions {
  transport?: "websocket" | "ws";
  type?: "websocket" | "ws";
  url: string | URL;
  headers?: HeadersOption;
  reconnect?: ReconnectOptions;
}

/** A stdio server distributed as a container image. */
export interface DockerServerEntry extends CommonServerEntry {
  transport?: "docker";
  type?: "docker";
  image: string;
  /** Address of the engine, e.g. `unix:///var/run/docker.sock`. @default the command line's own */
  dockerHost?: string;
  /** Command line of the engine: `docker`, `podman` or a path. @default "docker" */
  engine?: string;
  /** Arguments for the program in the container. */
  args?: readonly string[];
  /** Variables for the container, passed by name so that their values never stand in a process list. */
  env?: Readonly<Record<string, string>>;
  /** Bind mounts, `source:target[:options]`. */
  mounts?: readonly string[];
  /** More arguments for `docker run`, before the image. */
  runArgs?: readonly string[];
  restart?: ReconnectOptions;
}

/** Anything that speaks the SDK's `Transport` interface, made anew for every connection. */
export interface CustomServerEntry extends CommonServerEntry {
  transport: () => Transport | Promise<Transport>;
  reconnect?: ReconnectOptions;
}

/** Fields that say how a server is reached. */
type Reach = "command" | "url" | "sseUrl" | "base_url" | "endpoint" | "image";

/** Entries that say it in one way only: `{ url, command }` is a type error. */
export type ReachedOneWay<Entry> = Entry extends unknown
  ? Entry & { [Key in Exclude<Reach, keyof Entry>]?: undefined }
  : never;

/** One server, as written in `mcpServers`. Its fields say how it is reached: `command`, `url`, `image` or `transport`. */
export type ServerEntry = ReachedOneWay<
  | StdioServerEntry
  | HttpServerEntry
  | SseUrlServerEntry
  | BaseUrlServerEntry
  | WebSocketServerEntry
  | DockerServerEntry
  | CustomServerEntry
>;
