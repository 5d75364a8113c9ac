/** One server after its entry was checked: frozen, every default filled in, secrets wrapped. */

import { hashText, redactUrl, type SettingsOf } from "@toolport/base";
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
import type { CustomServerEntry, DockerServerEntry, StdioServerEntry } from "./server-entry.js";

export type { FallbackConfig, HeaderSource, ReconnectConfig } from "./entry-options.js";

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

/** Arguments and queries may contain keys, so only their hash is used. */
const fingerprint = (parts: unknown): string => hashText(JSON.stringify(parts));

/** The address without the transport. */
export function identifyUrl(text: string): string {
  const url = new URL(text);
  const address = `${url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin}${url.pathname}`;
  return url.search === "" ? address : `${address}?${fingerprint(url.search)}`;
}

/**
 * A stable key of the server that a configuration describes: the same for the same program and arguments, address or image,
 * whatever its name, headers, variables and limits are. Fit for a store and a log.
 *
 * @example
 * ```ts
 * configIdentity(config); // "http:https://example.com/mcp"
 * ```
 */
export function configIdentity(config: ServerConfig): string {
  switch (config.kind) {
    case "stdio":
      return `stdio:${config.command}#${fingerprint([config.command, config.args, config.cwd ?? ""])}`;
    case "docker":
      return `docker:${config.image}#${fingerprint([config.image, config.args, config.dockerHost ?? ""])}`;
    case "http":
    case "sse":
    case "websocket":
      return `${config.kind}:${identifyUrl(config.url)}`;
    case "custom":
      // A function does not show what it connects to, so only the name remains.
      return `custom:${config.name}`;
  }
}

const inspect = Symbol.for("nodejs.util.inspect.custom");

function view(config: object): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [key, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(config))) {
    if (get !== undefined) shown[key] = get.call(config) === undefined ? undefined : "[auth provider]";
    else if (key === "url") shown[key] = redactUrl(String(value));
    else shown[key] = typeof value === "function" ? "[function]" : value;
  }
  return shown;
}

/** Prototype of all configurations. It keeps printers from showing the tokens of a provider or the query of a URL. */
const printable = Object.freeze({
  toJSON(this: object): Record<string, unknown> {
    return view(this);
  },
  [inspect](this: object): Record<string, unknown> {
    return view(this);
  },
});

/**
 * Freezes the fields of a configuration, with the prototype above. `authProvider` becomes a getter: printers show
 * getters by name and do not walk into them, and a copy by spread still has the provider.
 */
export function freezeConfig<Config extends object>(fields: Config): Config {
  const config = Object.assign(Object.create(printable), fields);
  if ("authProvider" in fields) {
    const { authProvider } = fields;
    Object.defineProperty(config, "authProvider", { get: () => authProvider, enumerable: true });
  }
  return Object.freeze(config);
}
