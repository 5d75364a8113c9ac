/** One server after its entry was checked: frozen, every default filled in, secrets wrapped. */
import type {
  AuthProvider,
  ClientOptions,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import type { ToolFilter } from "../model/listed-tool.js";
import type { LogLevel } from "../model/log-levels.js";
import type { ConnectionTap } from "./connection-tap.js";
import type { FailurePredicate } from "./failure-predicate.js";
import type { OAuthOptions } from "./oauth-options.js";
import type { NetworkConfig } from "./read-network.js";
import type { SecretRecord } from "./secret-record.js";
import type { SecretValue } from "./secret-value.js";
import type { CacheOption, CheckArguments, ProgressReport, ProtocolChoice } from "./server-entry.js";

/** Header values that may be asked for anew before every request. */
export type HeaderSource = SecretRecord | (() => Promise<Readonly<Record<string, string>>>);

/** How a server is authorized; false: not by the port, whatever its options say. */
export type OAuthConfig = SecretValue<OAuthOptions> | false | undefined;

export interface ReconnectConfig {
  readonly enabled: boolean;
  /** Attempts in a row; undefined: no limit of the user's. */
  readonly maxAttempts: number | undefined;
  /** A fixed wait; undefined: exponential back-off. */
  readonly delayMs: number | undefined;
}

/** Who is asked instead, in which order, and when. */
export interface FallbackConfig {
  readonly servers: readonly string[];
  readonly tools: Readonly<Record<string, string>>;
  readonly when: "transient" | "unsent" | FailurePredicate;
}

interface CommonConfig {
  readonly name: string;
  readonly timeoutMs: number | undefined;
  readonly protocol: ProtocolChoice;
  /** For the SDK's client; wrapped because a cache in it may hold answers. */
  readonly clientOptions?: SecretValue<ClientOptions> | undefined;
  readonly enabled: boolean;
  readonly logLevel?: LogLevel | undefined;
  readonly logEvents: boolean;
  readonly logRequests: boolean;
  readonly logResponses: boolean;
  readonly reconnect: ReconnectConfig;
  /** Sees every message of its connections. */
  readonly tap?: ConnectionTap | undefined;
  /** Why it may not be connected although it is enabled: something of it could not be restored. */
  readonly blocked?: string | undefined;
  readonly toolTimeoutsMs?: Readonly<Record<string, number>> | undefined;
  readonly onProgress?: ((progress: ProgressReport) => unknown) | undefined;
  readonly fallback?: FallbackConfig | undefined;
  readonly only?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
  readonly filter?: ToolFilter | undefined;
  readonly cache?: CacheOption | undefined;
  readonly trustAnnotations?: boolean;
  readonly checkArguments?: CheckArguments | undefined;
  readonly concurrency?: number | undefined;
  readonly rateLimit?: { readonly perSecond: number; readonly burst?: number | undefined } | undefined;
}

export interface StdioConfig extends CommonConfig {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: SecretRecord;
  readonly inheritEnv: boolean;
  readonly cwd: string | undefined;
  readonly encoding: string;
  readonly stderr: "pipe" | "inherit" | "ignore";
}

export interface DockerConfig extends CommonConfig {
  readonly kind: "docker";
  readonly image: string;
  readonly dockerHost: string | undefined;
  readonly engine: string;
  readonly args: readonly string[];
  readonly env: SecretRecord;
  readonly mounts: readonly string[];
  readonly runArgs: readonly string[];
}

export interface HttpConfig extends CommonConfig, NetworkConfig {
  readonly kind: "http";
  readonly url: string;
  readonly headers: HeaderSource;
  readonly authProvider: AuthProvider | OAuthClientProvider | undefined;
  readonly oauth?: OAuthConfig;
  /** Fall back to legacy HTTP+SSE. */
  readonly sseFallback: boolean;
}

export interface SseConfig extends CommonConfig, NetworkConfig {
  readonly kind: "sse";
  readonly url: string;
  readonly headers: HeaderSource;
  readonly authProvider: AuthProvider | OAuthClientProvider | undefined;
  readonly oauth?: OAuthConfig;
}

export interface WebSocketConfig extends CommonConfig, Pick<NetworkConfig, "proxy"> {
  readonly kind: "websocket";
  readonly url: string;
  readonly headers: HeaderSource;
}

export interface CustomConfig extends CommonConfig {
  readonly kind: "custom";
  readonly createTransport: () => Transport | Promise<Transport>;
}

/** What every room below the door works with. */
export type ServerConfig =
  | StdioConfig
  | DockerConfig
  | HttpConfig
  | SseConfig
  | WebSocketConfig
  | CustomConfig;

/** How a server is reached. */
export type TransportKind = ServerConfig["kind"];
