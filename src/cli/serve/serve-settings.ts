/** Reads the options of `toolport serve`, and checks what they mean together. */

import { isIP } from "node:net";
import { resolve } from "node:path";
import type { CommandContext } from "../command.js";
import { CliError, EXIT } from "../errors.js";

/** The clients for which `--print-config` writes an entry. */
export type ConfigClient = "claude-desktop" | "claude-code" | "cursor" | "vscode" | "codex";

/** Where to listen. */
export interface Listening {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isLoopback: boolean;
}

/** The options, checked. */
export interface ServeSettings {
  /** Undefined: stdio. */
  readonly http: Listening | undefined;
  /** Undefined: all. */
  readonly servers: readonly string[] | undefined;
  /** May contain a password. */
  readonly store: string | undefined;
  readonly url: string | undefined;
  readonly path: string;
  readonly issuer: string | undefined;
  readonly audience: readonly string[];
  /** The secret of the client is in TOOLPORT_CONNECT_SECRET. */
  readonly connectClient: string | undefined;
  readonly allowHosts: readonly string[];
  readonly allowOrigins: readonly string[];
  readonly tokenFile: string | undefined;
  readonly noToken: boolean;
  readonly noPrefix: boolean;
  readonly readOnly: boolean;
  /** Code mode. */
  readonly code: boolean;
  readonly policy: string | undefined;
  readonly audit: string | undefined;
  readonly drainMs: number | undefined;
  readonly client: ConfigClient | undefined;
}

/** Options that have no meaning without HTTP. */
const OF_HTTP = [
  ...[
    "url",
    "path",
    "issuer",
    "audience",
    "connect-client",
    "allow-host",
    "allow-origin",
    "token-file",
    "no-token",
  ],
] as const;

/** @throws CliError if options contradict each other, or an address without authorization would be public */
export function readServeSettings(context: CommandContext): ServeSettings {
  const { cwd, env } = context;
  const text = (name: string) => context.text(name);
  const file = (name: string) => {
    const path = text(name);
    return path === undefined ? undefined : resolve(cwd, path);
  };
  const http = readListening(text("http"));
  const client = text("print-config") as ConfigClient | undefined;
  if (context.flag("stdio") && http !== undefined) throw usage("--stdio and --http contradict each other");
  const isOverHttp = http !== undefined || (client !== undefined && text("url") !== undefined);
  if (!isOverHttp) {
    const stray = OF_HTTP.find((name) => context.options[name] !== undefined);
    if (stray !== undefined) throw usage(`--${stray} needs --http`);
  }
  const servers = context.texts("servers").flatMap((names) => names.split(","));
  const settings: ServeSettings = {
    http,
    servers: servers.length === 0 ? undefined : servers.map((name) => name.trim()).filter(Boolean),
    store: text("store") ?? (env["TOOLPORT_STORE"] || undefined),
    url: text("url"),
    path: text("path") ?? "/mcp",
    issuer: text("issuer"),
    audience: context.texts("audience"),
    connectClient: text("connect-client"),
    allowHosts: context.texts("allow-host"),
    allowOrigins: context.texts("allow-origin"),
    tokenFile: file("token-file"),
    noToken: context.flag("no-token"),
    noPrefix: context.flag("no-prefix"),
    readOnly: context.flag("read-only"),
    code: context.flag("code"),
    policy: file("policy"),
    audit: file("audit"),
    drainMs: readDrainMs(text("drain-ms")),
    client,
  };
  checkAuthorization(settings);
  return settings;
}

function checkAuthorization(settings: ServeSettings): void {
  const { http, url, issuer, audience, connectClient, tokenFile, noToken } = settings;
  if (issuer !== undefined && (noToken || tokenFile !== undefined))
    throw usage(`--issuer and ${noToken ? "--no-token" : "--token-file"} contradict each other`);
  if (noToken && tokenFile !== undefined) throw usage("--no-token and --token-file contradict each other");
  if (audience.length > 0 && issuer === undefined) throw usage("--audience needs --issuer");
  if (connectClient !== undefined && (issuer === undefined || url === undefined))
    throw usage("--connect-client needs --issuer and --url");
  if (issuer !== undefined && url === undefined && audience.length === 0)
    throw new CliError(
      "--issuer needs --url or --audience: a token must be made for this gateway",
      "toolport serve --http <port> --issuer <address> --url <address of the gateway>",
      { exitCode: EXIT.configuration },
    );
  if (noToken && http !== undefined && !http.isLoopback)
    throw new CliError(
      `${http.host} is not a loopback address: without a token, anyone who reaches it could use your servers`,
      `toolport serve --http ${shownHost(http.host)}:${http.port} --token-file <file>`,
      { code: "PUBLIC_WITHOUT_AUTHORIZATION", exitCode: EXIT.configuration },
    );
}

/** Reads `8080`, `localhost:8080`, `0.0.0.0:8080` and `[::1]:8080`. */
function readListening(text: string | undefined): Listening | undefined {
  if (text === undefined) return undefined;
  const [, given = "127.0.0.1", digits = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const host = /^\[(.+)\]$/.exec(given)?.[1] ?? given;
  const port = Number(digits);
  const isAddress = isIP(host) === 6 ? given.startsWith("[") : /^[\w.-]+$/.test(host);
  if (digits === "" || port > 65_535 || !isAddress)
    throw usage("--http requires a port or host:port, such as 8080, 0.0.0.0:8080 or [::1]:8080");
  return { host, port, isLoopback: isLoopback(host) };
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

/** An IPv6 address needs brackets in a URL. */
export const shownHost = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** Listens on all addresses. */
export const isWildcard = (host: string): boolean => host === "0.0.0.0" || host === "::";

/** The host for a URL that works on this machine. */
export const reachableHost = (host: string): string => (isWildcard(host) ? "127.0.0.1" : shownHost(host));

function readDrainMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const drainMs = Number(text);
  if (text.trim() !== "" && Number.isFinite(drainMs) && drainMs >= 0) return drainMs;
  throw usage("--drain-ms requires a number of milliseconds, 0 or more");
}

const usage = (message: string): CliError => new CliError(message, "toolport serve --help");
