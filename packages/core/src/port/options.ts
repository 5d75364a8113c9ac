/** The options of `createToolport`. */

import type { Logger, ToolportError } from "@toolport/base";
import type { ProxyOption } from "@toolport/http/proxy-option";
import type { SchemaValidatorFactory } from "@toolport/schemas/internal";
import type { Store } from "@toolport/stores";
import type { ToolNameMapper, ToolSpecificationMapper } from "../catalog/build-snapshot.js";
import type { CatalogExport } from "../catalog/exported-catalog.js";
import type { ToolFilter } from "../catalog/filters.js";
import type { PinMode } from "../catalog/safety/pins.js";
import type { ScanHook } from "../catalog/safety/scan.js";
import type { CacheOption, CheckArguments, ServerEntry } from "../config/server-entry.js";
import type { ApproveOption } from "../execution/approve.js";
import type { BreakerOptions } from "../execution/breaker.js";
import type { BeforeFallback } from "../execution/fallback.js";
import type { CallListener } from "../execution/listeners.js";
import type { ResultSizeOption } from "../execution/result-size.js";
import type { RetryOptions } from "../execution/retry.js";
import type { CallInterceptor } from "../execution/tool-call.js";
import type { Progress } from "../protocol/pending-request.js";
import type { ServerRequestOptions } from "../protocol/server-requests/server-request-options.js";
import type { PromptsAsToolsOption, ResourcesAsToolsOption } from "./own-tools/own-tools.js";

/** What `connect()` does with a server that cannot be connected. */
export type ServerErrorPolicy =
  | "report"
  | "throw"
  | ((server: { readonly name: string }, error: ToolportError) => void);

/** Which tools models find by a search instead of seeing their definitions. */
export interface DeferToolsOptions {
  /**
   * Defer all tools (`"always"`), none (`"never"`), or all if their definitions take more than `above` tokens and there are at
   * least 10 (`"auto"`). `defer` of a server takes precedence.
   * @default "always"
   */
  readonly mode?: "auto" | "always" | "never";
  /** Tools that models always see, by name or glob. @default none */
  readonly alwaysVisible?: readonly string[];
  /** The number of tokens, estimated by the size of the definitions, above which `"auto"` defers tools. @default 10000 */
  readonly above?: number;
}

/** Offers a search over the tools instead of all their definitions: `true` is `{ mode: "always" }`. */
export type DeferToolsOption = boolean | DeferToolsOptions;

/** Options of {@link createToolport}. */
export interface ToolportOptions extends ServerRequestOptions {
  /**
   * The servers, by name.
   * @default {}
   * @example
   * ```ts
   * { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } }
   * ```
   */
  mcpServers?: Readonly<Record<string, ServerEntry>>;
  /** Where servers, lists and logins are saved. The port does not close the store. See docs/state.md. @default memory */
  store?: Store;
  /**
   * When Toolport connects to servers that are saved in `store`: when they are needed (`"lazy"`), at once (`"connect"`), or
   * never (`false`). See docs/state.md.
   * @default "lazy"
   */
  restore?: "lazy" | "connect" | false;
  /**
   * The URL to which the browser returns after a login; the program calls {@link Toolport.handleOAuthCallback} there. With
   * this option, servers that need a login report an `authUrl`. See docs/oauth.md.
   * @default none
   */
  callbackUrl?: string | URL;
  /** Name and version of your program, as servers see them. @default { name: "toolport", version } */
  clientInfo?: { name: string; version: string };
  /**
   * What `connect()` does with a server that cannot be connected: report it in its result (`"report"`), throw one error that
   * names all failed servers (`"throw"`), or call a function `(server, error)`.
   * @default "report"
   */
  onServerError?: ServerErrorPolicy;
  /** Maximum time of one attempt to connect, from the start of the process to the end of the handshake. @default 60000 */
  connectTimeoutMs?: number;
  /** Close a connection that was unused for this long. The next call opens it again. @default off */
  idleTimeoutMs?: number;
  /** Ping every server at this interval, `{ intervalMs }`, and reconnect those that do not respond. @default off */
  healthCheck?: { intervalMs: number };
  /**
   * The `fetch` to use instead of Toolport's own HTTP client.
   * @default a guarded pool on Node, the global `fetch` elsewhere
   */
  fetch?: typeof globalThis.fetch;
  /**
   * The proxy for all HTTP, SSE and WebSocket connections and OAuth requests. `"env"` uses `HTTP_PROXY`, `HTTPS_PROXY`,
   * `ALL_PROXY` and `NO_PROXY` (in either case) and connects directly to loopback targets, a URL applies to every target,
   * `false` uses no proxy. A server entry may override it. Your own `fetch`, Workers, Bun and Deno handle proxies
   * themselves. See docs/transports.md#proxies.
   * @default "env"
   * @example
   * ```ts
   * createToolport({ mcpServers, proxy: "http://user:password@proxy.example:3128" });
   * ```
   */
  proxy?: ProxyOption | URL;
  /**
   * Maximum number of sockets for requests to one origin, per user. Further requests wait within their timeouts. `Infinity`:
   * no limit. Streams that stay open do not count. It does not apply to your own `fetch`. See
   * docs/transports.md#streamable-http.
   * @default 256
   * @example
   * ```ts
   * createToolport({ mcpServers, maxSockets: 64 });
   * ```
   */
  maxSockets?: number;

  /** Prepend the name of the server to the name of every tool: `server__tool`. @default true */
  prefix?: boolean;
  /** A further prefix of every tool name: `prefix__server__tool`. @default "" */
  additionalToolNamePrefix?: string;
  /** Names a tool, `(server, tool) => name`; replaces the prefix. Toolport keeps the names valid and unique. @default none */
  toolNameMapper?: ToolNameMapper;
  /** Changes the title, description or schema of a tool: `(server, tool) => tool`. @default none */
  toolSpecificationMapper?: ToolSpecificationMapper;
  /**
   * Offer only these tools, by name or as `server.tool`; `*` and `?` are wildcards. See docs/catalog.md#filters.
   * @default all tools
   */
  only?: readonly string[];
  /** Offer all tools except these. See docs/catalog.md#filters. @default none */
  except?: readonly string[];
  /**
   * Offer only tools for which this function returns true. A tool must also pass `only`, `except` and the filters of its
   * server. See docs/catalog.md#filters.
   * @default all tools
   */
  filter?: ToolFilter;
  /** `connect()` throws if one of these tools is missing. @default [] */
  requiredTools?: readonly string[];
  /**
   * How long lists are cached: until the server announces a change (`true`), at most `{ ttlMs }`, or not at all (`false`).
   * See docs/catalog.md#how-long-lists-are-kept.
   * @default true
   */
  cache?: CacheOption;
  /** Lists from `exportCatalog()`: tools are known before any server is connected. @default none */
  catalog?: CatalogExport;
  /** Report (`"warn"`) or withhold (`"block"`) tools whose definition changed since Toolport first saw it. @default "off" */
  pins?: PinMode;
  /**
   * Receives every text of a tool, prompt, resource or instructions that a model will read:
   * `(server, { kind, name }, strings)`. If it returns a reason, the item is withheld.
   * @default none
   */
  scan?: ScanHook;
  /**
   * Offer the tools `search_tools` and `call_tool` instead of all definitions: always (`true`), or only for many tools
   * (`{ mode: "auto" }`). See docs/context.md.
   * @default false
   * @example
   * ```ts
   * createToolport({ mcpServers, deferTools: { mode: "auto", alwaysVisible: ["files__*"] } });
   * ```
   */
  deferTools?: DeferToolsOption;
  /**
   * Offer the tools `list_resources` and `read_resource` to models: `true`, an object with other names and descriptions, or a
   * function that creates the tools.
   * @default false
   */
  resourcesAsTools?: ResourcesAsToolsOption;
  /** Offer the tools `list_prompts` and `get_prompt` to models. @default false */
  promptsAsTools?: PromptsAsToolsOption;

  /**
   * Fail a request if the server sends neither a response nor progress for this long. `Infinity`: no limit.
   * @default 60000
   */
  timeoutMs?: number;
  /**
   * Maximum time of one call in all, with or without progress. `Infinity`: no limit. A longer `timeoutMs` of a call raises it
   * for that call.
   * @default 300000
   */
  maxTimeoutMs?: number;
  /**
   * Asks your program before every call that is not known to be read-only; `{ ask, when }` chooses the calls.
   * @default none: every call is made
   */
  approve?: ApproveOption;
  /** Your own steps in the call pipeline, outermost first. @default [] */
  interceptors?: readonly CallInterceptor[];
  /** Called before and after every tool call, prompt and resource access. @default [] */
  listeners?: readonly CallListener[];
  /**
   * Retry calls that cannot have run, or that you marked as idempotent: `{ maxAttempts, baseMs, maxMs, when }`, or `false`.
   * See docs/fallback-and-retries.md.
   * @default 3 attempts
   */
  retry?: RetryOptions;
  /**
   * Stop calling a server that keeps failing: `{ failures, openMs, maxOpenMs }`, or `false`.
   * @default after 5 failures, for 30 s
   */
  breaker?: BreakerOptions;
  /** Called before a call is sent to a fallback server; `false` prevents it. @default none */
  beforeFallback?: BeforeFallback;
  /** Maximum number of calls at the same time, per server. @default no limit */
  concurrency?: number;
  /** Maximum number of calls per second, per server: `{ perSecond, burst }`. @default no limit */
  rateLimit?: { perSecond: number; burst?: number };
  /**
   * Maximum number of calls that wait for `concurrency` or `rateLimit`, per server. Further calls fail with `OVERLOADED`.
   * @default 1000
   */
  maxQueue?: number;
  /** Maximum size of a message from a server. @default 10485760 */
  maxMessageBytes?: number;
  /**
   * Truncate larger results (a number), or store their largest parts separately: `{ bytes, mode, tools, read, onSpill }`. `tools` sets
   * other limits for some tools, and `read` lets models read the rest with the tool `read_artifact`. See
   * docs/calls.md#large-results.
   * @default off
   */
  maxResultBytes?: ResultSizeOption;
  /**
   * How arguments are treated that do not match the schema of a tool: correct unambiguous mistakes and reject other arguments
   * (`"repair"`), reject all of them (`"strict"`), or send them unchecked (`"off"`). A server entry and a call may override
   * it. See docs/calls.md#arguments-are-checked-and-repaired.
   * @default "repair"
   * @example
   * ```ts
   * createToolport({ mcpServers, checkArguments: "strict" });
   * ```
   */
  checkArguments?: CheckArguments;
  /** Validates arguments and results instead of the built-in validator. @default built in */
  validator?: SchemaValidatorFactory;
  /** Receives every progress notification of every call. If it returns a promise, the next one waits for it. @default none */
  onProgress?: (server: { readonly name: string }, progress: Progress) => unknown;

  /**
   * Receives warnings, and what `logEvents`, `logRequests` and `logResponses` write: `debug`, `info`, `warn`, `error`.
   * @default silent
   */
  logger?: Logger;
}
