/** What `createToolport` takes. */

import type { CatalogExport } from "../catalog/exported-catalog.js";
import type { ToolFilter } from "../catalog/filters/filters.js";
import type { PinMode } from "../catalog/safety/pins.js";
import type { ScanHook } from "../catalog/safety/scan.js";
import type { ToolNameMapper, ToolSpecificationMapper } from "../catalog/tool-mapping.js";
import type { CacheOption, CheckArguments, ProxyOption, ServerEntry } from "../config/server-entry.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { ApproveOption } from "../execution/approve.js";
import type { BreakerOptions } from "../execution/breaker.js";
import type { BeforeFallback } from "../execution/fallback.js";
import type { CallListener } from "../execution/listeners.js";
import type { ResultSizeOption } from "../execution/result-size.js";
import type { RetryOptions } from "../execution/retry.js";
import type { CallInterceptor } from "../execution/tool-call.js";
import type { Progress } from "../protocol/pending-request.js";
import type { ServerRequestOptions } from "../protocol/server-requests/server-request-options.js";
import type { SchemaValidatorFactory } from "../schema/create-validator.js";
import type { Store } from "../state/store.js";
import type { Logger } from "../telemetry/logger.js";
import type { PromptsAsToolsOption } from "./own-tools/prompt-tools.js";
import type { ResourcesAsToolsOption } from "./own-tools/resource-tools.js";

/** What happens when a server cannot be connected. */
export type ServerErrorPolicy =
  | "report"
  | "throw"
  | ((server: { readonly name: string }, error: ToolportError) => void);

/** Offer a search over the tools instead of all their definitions. */
export type DeferToolsOption = boolean | { readonly alwaysVisible?: readonly string[] };

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
  /** Where state is kept. The port does not close it. @default memory */
  store?: Store;
  /**
   * What happens to servers that an earlier port added and saved in `store`: known at once and connected when they are
   * needed, connected at once, or left alone.
   * @default "lazy"
   */
  restore?: "lazy" | "connect" | false;
  /**
   * Where a browser comes back to after a login: the address under which this program calls
   * {@link Toolport.handleOAuthCallback}. With it, servers that want a login report `authUrl`.
   * @default none
   */
  callbackUrl?: string | URL;
  /** How this program introduces itself to servers. @default { name: "toolport", version } */
  clientInfo?: { name: string; version: string };

  /** Put the server's name before every tool's name: `server__tool`. @default true */
  prefix?: boolean;
  /** Put before every tool's name: `prefix__server__tool`. @default "" */
  additionalToolNamePrefix?: string;
  /** Names a tool; replaces the prefix. Names stay valid and unlike each other. @default none */
  toolNameMapper?: ToolNameMapper;
  /** Changes what a tool says about itself. @default none */
  toolSpecificationMapper?: ToolSpecificationMapper;
  /** Only these tools, by their name on the server or as `server.tool`; `*` and `?` stand for anything. @default all */
  only?: readonly string[];
  /** All but these tools. @default none */
  except?: readonly string[];
  /** Only tools for which it returns true; joined with `only`, `except` and the servers' own filters by AND. */
  filter?: ToolFilter;
  /** `connect()` fails when one of these tools is missing. @default none */
  requiredTools?: readonly string[];
  /**
   * Keep lists until the server says that they changed, for a time, or not at all.
   * @default true
   */
  cache?: CacheOption;
  /** Lists from `exportCatalog()`: tools are known before anything is connected. @default none */
  catalog?: CatalogExport;
  /** Tell (`"warn"`) or withhold (`"block"`) tools whose definition changed since it was first seen. @default "off" */
  pins?: PinMode;
  /** Sees every text that a model will read of a tool, prompt, resource or of instructions; a reason returned withholds it. @default none */
  scan?: ScanHook;
  /** Give models `search_tools` and `call_tool` instead of every definition. @default false */
  deferTools?: DeferToolsOption;
  /**
   * Give models the tools `list_resources` and `read_resource`: `true`, other names and words for them, or a function
   * that makes tools of its own.
   * @default false
   */
  resourcesAsTools?: ResourcesAsToolsOption;
  /** Give models the tools `list_prompts` and `get_prompt`. @default false */
  promptsAsTools?: PromptsAsToolsOption;

  /** Asks before calls that change something. @default none: every call is made */
  approve?: ApproveOption;
  /** Steps of your own in the call pipeline, outermost first. @default [] */
  interceptors?: readonly CallInterceptor[];
  /** Told before and after every tool call, prompt and resource access. @default [] */
  listeners?: readonly CallListener[];
  /** Repeat what cannot have run, or may run twice. @default 3 attempts */
  retry?: RetryOptions;
  /** Leave a server alone that keeps failing. @default after 5 failures, for 30 s */
  breaker?: BreakerOptions;
  /** Asked before a call goes to another server; `false` keeps it where it was. @default none */
  beforeFallback?: BeforeFallback;
  /** Calls at once, per server. @default no limit */
  concurrency?: number;
  /** Calls per second, per server. @default no limit */
  rateLimit?: { perSecond: number; burst?: number };
  /** Calls that may wait for their turn, per server; any more fail with `OVERLOADED`. @default 1000 */
  maxQueue?: number;
  /** Cut or put aside results that are larger. @default off */
  maxResultBytes?: ResultSizeOption;
  /**
   * What happens to arguments that do not fit a tool's schema: repaired where that takes no guess and refused otherwise,
   * always refused, or sent as they are. A server's entry and a call may say otherwise.
   * @default "repair"
   * @example
   * ```ts
   * createToolport({ mcpServers, checkArguments: "strict" });
   * ```
   */
  checkArguments?: CheckArguments;
  /** Checks arguments and results in place of the built-in validator. @default built in */
  validator?: SchemaValidatorFactory;
  /** Gets every progress report of every call; one at a time if it returns promises. */
  onProgress?: (server: { readonly name: string }, progress: Progress) => unknown;

  /** Longest silence of a server during one request; `Infinity`: no limit. @default 60000 */
  timeoutMs?: number;
  /** Longest time of one request, progress or not; `Infinity`: no limit. @default 300000 */
  maxTimeoutMs?: number;
  /** Longest time one attempt to connect may take. @default 60000 */
  connectTimeoutMs?: number;
  /** Largest message accepted from a server. @default 10485760 */
  maxMessageBytes?: number;
  /**
   * A server that cannot be connected is reported (`connect()` tells), thrown (one error that names all), or handed to
   * a function.
   * @default "report"
   */
  onServerError?: ServerErrorPolicy;
  /** The `fetch` to use instead of the pooled one. @default a guarded pool on Node, the global `fetch` elsewhere */
  fetch?: typeof globalThis.fetch;
  /**
   * The proxy for all HTTP, SSE and WebSocket connections and OAuth requests: `"env"` takes `HTTP_PROXY`, `HTTPS_PROXY`,
   * `ALL_PROXY` and `NO_PROXY` (either case) and leaves loopback targets alone, an address applies to every target, `false`
   * uses none. A server's entry may say otherwise. A `fetch` of your own, Workers, Bun and Deno handle proxies themselves.
   * @default "env"
   * @example
   * ```ts
   * createToolport({ mcpServers, proxy: "http://user:password@proxy.example:3128" });
   * ```
   */
  proxy?: ProxyOption | URL;
  /**
   * Sockets for requests to one origin at the same time, per user; further requests wait, within their deadlines. `Infinity`:
   * no limit. Streams that stay open are not counted. Not for a `fetch` of your own.
   * @default 256
   * @example
   * ```ts
   * createToolport({ mcpServers, maxSockets: 64 });
   * ```
   */
  maxSockets?: number;
  /** Close a connection that was not used for this long; it reopens by itself. @default off */
  idleTimeoutMs?: number;
  /** Ask every server for a sign of life now and then, and bring back those that give none. @default off */
  healthCheck?: { intervalMs: number };
  /** Gets warnings, and what `logEvents`, `logRequests` and `logResponses` ask for. @default silent */
  logger?: Logger;
}
