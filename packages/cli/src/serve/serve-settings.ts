/** Reads the options of `toolport serve`, checks what they mean together, and keeps a gateway from starting itself. */

import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { ConfigError } from "@toolport/base";
import { textsIn } from "@toolport/config/internal";
import { SERVE_CHAIN_VARIABLE } from "@toolport/core/internal";
import type { CommandContext } from "../command.js";
import { configurationError, usageError } from "../errors.js";

/** The clients for which `--print-config` writes an entry. */
export type ConfigClient = "claude-desktop" | "claude-code" | "cursor" | "vscode" | "codex";

/** Where to listen. */
export type Listening = NonNullable<ReturnType<typeof readListening>>;

/** The options, checked. */
export type ServeSettings = ReturnType<typeof readServeSettings>;

/** Options that have no meaning without HTTP. */
const OF_HTTP = "url path issuer audience connect-client allow-host allow-origin token-file no-token".split(
  " ",
);

/** @throws CliError if options contradict each other, or an address without authorization would be public */
export function readServeSettings(context: CommandContext) {
  const { cwd, env } = context;
  const text = (name: string) => context.text(name);
  const file = (name: string) => {
    const path = text(name);
    return path === undefined ? undefined : resolve(cwd, path);
  };
  const http = readListening(text("http"));
  const client = text("print-config") as ConfigClient | undefined;
  if (context.flag("stdio") && http !== undefined)
    throw usageError("serve", "--stdio and --http contradict each other");
  const isOverHttp = http !== undefined || (client !== undefined && text("url") !== undefined);
  if (!isOverHttp) {
    const stray = OF_HTTP.find((name) => context.options[name] !== undefined);
    if (stray !== undefined) throw usageError("serve", `--${stray} needs --http`);
  }
  const servers = context.texts("servers").flatMap((names) => names.split(","));
  const settings = {
    /** Undefined: stdio. */
    http,
    /** Undefined: all. */
    servers: servers.length === 0 ? undefined : servers.map((name) => name.trim()).filter(Boolean),
    /** May contain a password. */
    store: text("store") ?? (env["TOOLPORT_STORE"] || undefined),
    url: text("url"),
    path: text("path") ?? "/mcp",
    issuer: text("issuer"),
    audience: context.texts("audience"),
    /** The secret of the client is in TOOLPORT_CONNECT_SECRET. */
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
    drainMs: context.number("drain-ms"),
    client,
  };
  checkAuthorization(settings);
  return settings;
}

function checkAuthorization(settings: ServeSettings): void {
  const { http, url, issuer, audience, connectClient, tokenFile, noToken } = settings;
  const [hasIssuer, hasFile] = [issuer !== undefined, tokenFile !== undefined];
  const conflicts: Readonly<Record<string, boolean>> = {
    "--issuer and --no-token contradict each other": hasIssuer && noToken,
    "--issuer and --token-file contradict each other": hasIssuer && hasFile,
    "--no-token and --token-file contradict each other": noToken && hasFile,
    "--audience needs --issuer": audience.length > 0 && !hasIssuer,
    "--connect-client needs --issuer and --url":
      connectClient !== undefined && (!hasIssuer || url === undefined),
  };
  for (const [message, isWrong] of Object.entries(conflicts)) if (isWrong) throw usageError("serve", message);
  if (hasIssuer && url === undefined && audience.length === 0)
    throw configurationError(
      "USAGE",
      "--issuer needs --url or --audience: a token must be made for this gateway",
      "toolport serve --http <port> --issuer <address> --url <address of the gateway>",
    );
  if (noToken && http !== undefined && !http.isLoopback)
    throw configurationError(
      "PUBLIC_WITHOUT_AUTHORIZATION",
      `${http.host} is not a loopback address: without a token, anyone who reaches it could use your servers`,
      `toolport serve --http ${shownHost(http.host)}:${http.port} --token-file <file>`,
    );
}

/** Reads `8080`, `localhost:8080`, `0.0.0.0:8080` and `[::1]:8080`. */
function readListening(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, name = "127.0.0.1", digits = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const host = /^\[(.+)\]$/.exec(name)?.[1] ?? name;
  const port = Number(digits);
  const isAddress = isIP(host) === 6 ? name.startsWith("[") : /^[\w.-]+$/.test(host);
  if (digits === "" || port > 65_535 || !isAddress)
    throw usageError(
      "serve",
      "--http requires a port or host:port, such as 8080, 0.0.0.0:8080 or [::1]:8080",
    );
  // The host is without brackets.
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

/** `toolport`, `toolport@1.2.3`, `/usr/bin/toolport`, `toolport.cmd`. */
const PROGRAM = /(?:^|[\\/])toolport(?:@[^\s/\\]+)?(?:\.(?:cmd|exe|ps1))?$/i;
/** The file of the program in an installed package or a checkout. */
const MAIN = /[\\/]toolport[^\\/]*[\\/](?:.*[\\/])?cli[\\/]main\.js$/i;
const SHELL = /(?:^|[\\/])(?:sh|bash|zsh|dash|fish|cmd|powershell|pwsh)(?:\.exe)?$/i;

/**
 * True for an entry that runs this program as a gateway: directly, through `npx` and its relatives, through `node`, or in a
 * shell.
 *
 * @param entry an entry in Toolport's format; variables need not be expanded
 * @param commands the names of all commands
 */
export function runsGateway(
  entry: Readonly<Record<string, unknown>>,
  commands: readonly string[],
  ownFile: string | undefined = process.argv[1],
): boolean {
  const { command } = entry;
  if (typeof command !== "string") return false;
  const line = [command, ...textsIn(entry["args"])];
  const words = SHELL.test(command) ? line.flatMap((text) => text.match(/[^\s'"`;&|()]+/g) ?? []) : line;
  const at = words.findIndex((word) => PROGRAM.test(word) || MAIN.test(word) || isSameFile(word, ownFile));
  return at >= 0 && words.slice(at + 1).find((word) => commands.includes(word)) === "serve";
}

const isSameFile = (word: string, file: string | undefined): boolean =>
  file !== undefined && /main\.js$/.test(word) && realPath(word) === realPath(file);

/** Gateways above a gateway. */
const MAX_DEPTH = 3;
const HASH_LENGTH = 16;

/**
 * The chain for the processes that this gateway starts: the hashes of the files of each gateway, `a+b/c`.
 *
 * @param above the value of the variable in this process
 * @param files the configuration files of this gateway
 * @throws ConfigError if a gateway above uses all of these files, or if there are too many above
 */
export function extendServeChain(above: string | undefined, files: readonly string[]): string {
  const gateways = above ? above.split("/") : [];
  const own = [...new Set(files.map(hashOf))].sort();
  const isAbove = gateways.some((gateway) => {
    const hashes = new Set(gateway.split("+"));
    return own.length > 0 && own.every((hash) => hashes.has(hash));
  });
  const fail = (what: string, next: string) => new ConfigError({ code: "INVALID_CONFIG", what, next });
  if (isAbove)
    throw fail(
      `This gateway was started by a gateway with the same configuration, and would start itself again: ${files.join(", ")}`,
      "Remove the entry that runs `toolport serve`, or give it a file of its own with --config",
    );
  if (gateways.length > MAX_DEPTH)
    throw fail(
      `There are ${gateways.length} gateways above this one, each started by the one before; ${MAX_DEPTH} are allowed`,
      "Connect the servers to one gateway",
    );
  return [...gateways, own.join("+") || "-"].join("/");
}

/** Sets the variable until the returned function is called. */
export function enterServeChain(files: readonly string[], env: NodeJS.ProcessEnv = process.env): () => void {
  const before = env[SERVE_CHAIN_VARIABLE];
  env[SERVE_CHAIN_VARIABLE] = extendServeChain(before, files);
  return () => {
    if (before === undefined) delete env[SERVE_CHAIN_VARIABLE];
    else env[SERVE_CHAIN_VARIABLE] = before;
  };
}

/** By path, so that a change of the file does not hide a loop. Two containers may have different files at the same path. */
function hashOf(file: string): string {
  const parts = JSON.stringify([hostname(), realPath(file)]);
  return createHash("sha256").update(parts).digest("hex").slice(0, HASH_LENGTH);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
