/** One server after its entry was checked: frozen, every default filled in, secrets wrapped. */
import type {
  ChangedOptions,
  CUSTOM_OPTIONS,
  DOCKER_OPTIONS,
  ENTRY_OPTIONS,
  HTTP_OPTIONS,
  HttpEntry,
  SSE_OPTIONS,
  STDIO_OPTIONS,
  WEBSOCKET_OPTIONS,
  WebSocketEntry,
} from "./entry-options.js";
import type { SettingsOf } from "./option-table.js";
import type { CustomServerEntry, DockerServerEntry, StdioServerEntry } from "./server-entry.js";

export type { FallbackConfig, HeaderSource, ReconnectConfig } from "./entry-readers.js";

/** Sees one message of a connection. It must not change the message. */
export type MessageTap = (direction: "sent" | "received", message: unknown) => unknown;

/** Called for every attempt to connect, so that each connection has a tap of its own. */
export type ConnectionTap = () => MessageTap;

/** The key of a {@link ConnectionTap} on an entry. A symbol is never written to a file and never saved with the entry. */
export const CONNECTION_TAP: unique symbol = Symbol.for("toolport.connection-tap");

/** The settings of one kind of server. */
type ConfigOf<Kind extends TransportKind, Entry, Table> = SettingsOf<Entry, Table, ChangedOptions> & {
  readonly kind: Kind;
  readonly name: string;
  /** Sees every message of this server's connections. */
  readonly tap?: ConnectionTap | undefined;
  /** The reason why an enabled server may not be connected: a part of its entry could not be restored. */
  readonly blocked?: string | undefined;
};

export type StdioConfig = ConfigOf<"stdio", StdioServerEntry, typeof STDIO_OPTIONS>;
export type DockerConfig = ConfigOf<"docker", DockerServerEntry, typeof DOCKER_OPTIONS>;
export type HttpConfig = ConfigOf<"http", HttpEntry, typeof HTTP_OPTIONS>;
export type SseConfig = Omit<ConfigOf<"sse", HttpEntry, typeof SSE_OPTIONS>, "sseFallback">;
export type WebSocketConfig = ConfigOf<"websocket", WebSocketEntry, typeof WEBSOCKET_OPTIONS>;
export type CustomConfig = ConfigOf<"custom", CustomServerEntry, typeof CUSTOM_OPTIONS>;

/** The configuration that all other modules work with. */
export type ServerConfig =
  | StdioConfig
  | DockerConfig
  | HttpConfig
  | SseConfig
  | WebSocketConfig
  | CustomConfig;

/** The transport that reaches a server. */
export type TransportKind = keyof typeof ENTRY_OPTIONS;
