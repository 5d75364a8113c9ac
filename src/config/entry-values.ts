/** The types of the values that the options of a server entry take. */
import type { FailurePredicate } from "./failure-predicate.js";

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

/**
 * The proxy for a server: `"env"` uses the environment variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, a
 * URL (`http://user:password@host:port` or `https://…`) names a proxy, `false` connects directly.
 */
export type ProxyOption = "env" | (string & {}) | false;
