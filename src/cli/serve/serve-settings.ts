/** The options of `toolport serve`, for help and completion. The code that reads them is loaded with the command. */

import { isIP } from "node:net";
import { resolve } from "node:path";
import { flagOption, type Invocation, type OptionSpec, textOption, textsOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { CliError, EXIT } from "../errors.js";

/** The clients for which `--print-config` writes an entry. */
const CLIENTS = ["claude-desktop", "claude-code", "cursor", "vscode", "codex"] as const;

export type ConfigClient = (typeof CLIENTS)[number];

export const SERVE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  stdio: { type: "boolean", summary: "Serve one client on standard input and output (the default)" },
  http: { type: "string", value: "<[host:]port>", summary: "Serve over HTTP; port 0 takes a free one" },
  servers: {
    type: "string",
    multiple: true,
    value: "<a,b>",
    summary: "Only these servers and their fallbacks",
  },
  store: {
    type: "string",
    value: "<url>",
    summary: "Share state with other replicas: redis://… or postgres://… (or TOOLPORT_STORE)",
  },
  url: { type: "string", value: "<url>", summary: "The address that clients use, behind a proxy" },
  path: { type: "string", value: "<path>", summary: "The path of the MCP endpoint (/mcp)" },
  issuer: { type: "string", value: "<url>", summary: "Accept access tokens (JWT) of this issuer" },
  audience: {
    type: "string",
    multiple: true,
    value: "<text>",
    summary: "The audience of those tokens (the address of --url)",
  },
  "connect-client": {
    type: "string",
    value: "<id>",
    summary: "Let users log in to servers: the client id of this gateway at the issuer",
  },
  "allow-host": { type: "string", multiple: true, value: "<name>", summary: "Also accept this Host header" },
  "allow-origin": {
    type: "string",
    multiple: true,
    value: "<origin>",
    summary: "Accept requests of web pages of this origin",
  },
  "token-file": { type: "string", value: "<file>", summary: "The file with the token that clients send" },
  "no-token": { type: "boolean", summary: "Accept every request; on loopback addresses only" },
  "no-prefix": { type: "boolean", summary: "Do not prepend the name of the server to tool names" },
  "read-only": { type: "boolean", summary: "Offer only tools that their server marks as read-only" },
  code: { type: "boolean", summary: "Offer search and execute: clients call the tools in programs" },
  policy: { type: "string", value: "<file>", summary: "Rules that allow, deny or ask; changes are followed" },
  audit: { type: "string", value: "<file>", summary: "Append one line for every request to this file" },
  "drain-ms": { type: "string", value: "<ms>", summary: "How long open requests may finish at the end" },
  "print-config": {
    type: "string",
    value: "<client>",
    choices: CLIENTS,
    summary: `Print the configuration for a client and exit: ${CLIENTS.join(", ")}`,
  },
};

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
export function readServeSettings(invocation: Invocation, { cwd, env }: CommandContext): ServeSettings {
  const text = (name: string) => textOption(invocation, name);
  const file = (name: string) => {
    const path = text(name);
    return path === undefined ? undefined : resolve(cwd, path);
  };
  const http = readListening(text("http"));
  const client = text("print-config") as ConfigClient | undefined;
  if (flagOption(invocation, "stdio") && http !== undefined)
    throw usage("--stdio and --http contradict each other");
  const isOverHttp = http !== undefined || (client !== undefined && text("url") !== undefined);
  if (!isOverHttp) {
    const stray = OF_HTTP.find((name) => invocation.options[name] !== undefined);
    if (stray !== undefined) throw usage(`--${stray} needs --http`);
  }
  const servers = textsOption(invocation, "servers").flatMap((names) => names.split(","));
  const settings: ServeSettings = {
    http,
    servers: servers.length === 0 ? undefined : servers.map((name) => name.trim()).filter(Boolean),
    store: text("store") ?? (env["TOOLPORT_STORE"] || undefined),
    url: text("url"),
    path: text("path") ?? "/mcp",
    issuer: text("issuer"),
    audience: textsOption(invocation, "audience"),
    connectClient: text("connect-client"),
    allowHosts: textsOption(invocation, "allow-host"),
    allowOrigins: textsOption(invocation, "allow-origin"),
    tokenFile: file("token-file"),
    noToken: flagOption(invocation, "no-token"),
    noPrefix: flagOption(invocation, "no-prefix"),
    readOnly: flagOption(invocation, "read-only"),
    code: flagOption(invocation, "code"),
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
    throw new CliError({
      exitCode: EXIT.configuration,
      message: "--issuer needs --url or --audience: a token must be made for this gateway",
      next: "toolport serve --http <port> --issuer <address> --url <address of the gateway>",
    });
  if (noToken && http !== undefined && !http.isLoopback)
    throw new CliError({
      code: "PUBLIC_WITHOUT_AUTHORIZATION",
      exitCode: EXIT.configuration,
      message: `${http.host} is not a loopback address: without a token, anyone who reaches it could use your servers`,
      next: `toolport serve --http ${shownHost(http.host)}:${http.port} --token-file <file>`,
    });
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

const usage = (message: string): CliError => new CliError({ message, next: "toolport serve --help" });
