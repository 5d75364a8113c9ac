/** `toolport serve`: offers the configured servers as one MCP server, over stdio or HTTP. */

import type { Logger } from "@toolport/base";
import type { Toolport } from "@toolport/core";
import { createGateway, type Gateway, type GatewayOptions, watchPolicy } from "@toolport/gateway";
import type { CommandContext, CommandSpec, OpenedPort, OptionSpecs, RunCommand } from "../command.js";
import { flag, number, text, texts } from "../command-options.js";
import { openPort } from "../connect-servers.js";
import { configurationError } from "../errors.js";
import { openSharedStore } from "../open-store.js";
import { printConfig } from "../serve/print-config.js";
import {
  connectCallback,
  httpOptions,
  readCredentials,
  serveHttp,
  tokenFileOf,
} from "../serve/serve-http.js";
import {
  type ConfigClient,
  enterServeChain,
  readServeSettings,
  runsGateway,
  type ServeSettings,
} from "../serve/serve-settings.js";
import { shellWord } from "../shell-words.js";

/** The clients for which `--print-config` writes an entry. */
const CLIENTS: readonly ConfigClient[] = ["claude-desktop", "claude-code", "cursor", "vscode", "codex"];

const OPTIONS: OptionSpecs = {
  stdio: flag("Serve one client on standard input and output (the default)"),
  http: text("<[host:]port>", "Serve over HTTP; port 0 takes a free one"),
  servers: texts("<a,b>", "Only these servers and their fallbacks"),
  store: text("<url>", "Share state with other replicas: redis://… or postgres://… (or TOOLPORT_STORE)"),
  url: text("<url>", "The address that clients use, behind a proxy"),
  path: text("<path>", "The path of the MCP endpoint (/mcp)"),
  issuer: text("<url>", "Accept access tokens (JWT) of this issuer"),
  audience: texts("<text>", "The audience of those tokens (the address of --url)"),
  "connect-client": text("<id>", "Let users log in to servers: the client id of this gateway at the issuer"),
  "allow-host": texts("<name>", "Also accept this Host header"),
  "allow-origin": texts("<origin>", "Accept requests of web pages of this origin"),
  "token-file": text("<file>", "The file with the token that clients send"),
  "no-token": flag("Accept every request; on loopback addresses only"),
  "no-prefix": flag("Do not prepend the name of the server to tool names"),
  "read-only": flag("Offer only tools that their server marks as read-only"),
  code: flag("Offer search and execute: clients call the tools in programs"),
  policy: text("<file>", "Rules that allow, deny or ask; changes are followed"),
  audit: text("<file>", "Append one line for every request to this file"),
  "drain-ms": number("<ms>", "How long open requests may finish at the end", { min: 0, isWhole: false }),
  "print-config": text(
    "<client>",
    `Print the configuration for a client and exit: ${CLIENTS.join(", ")}`,
    CLIENTS,
  ),
};

export const serveCommand: CommandSpec = {
  name: "serve",
  summary: "Offer all servers as one MCP server, over stdio or HTTP",
  group: "program",
  positionals: [],
  options: OPTIONS,
  examples: [
    ["toolport serve", "for a client that starts it"],
    ["toolport serve --http 8080", "on this machine, with a token in a file"],
    ["toolport serve --print-config cursor", "the entry for a client"],
  ],
  load: async () => (await import("./serve.js")).runServe,
};

/** The client of a gateway over stdio waits for its end. */
const STDIO_DRAIN_MS = 500;
/** Servers get this time to end by themselves. The guardian then ends the others, within a second. */
const STDIO_STOP_MS = 300;

export const runServe: RunCommand = async (context) => {
  const settings = readServeSettings(context);
  if (settings.client !== undefined) {
    const isOverHttp = settings.http !== undefined || settings.url !== undefined;
    const tokenFile = isOverHttp ? tokenFileOf(settings, context) : undefined;
    return printConfig(settings.client, settings, context, tokenFile);
  }
  const opened = await openServers(settings, context);
  const { http } = settings;
  const logger = loggerOf(context);
  // Rules may name servers that this gateway leaves out.
  const knownServers = [...(await context.readServers()).servers.keys()];
  const policy =
    settings.policy === undefined ? undefined : await watchPolicy(settings.policy, { logger, knownServers });
  const options: GatewayOptions = {
    ...(policy !== undefined && { policy }),
    ...(settings.audit !== undefined && { audit: settings.audit }),
    ...(settings.code && { code: true }),
    ...(settings.drainMs !== undefined && { drainMs: settings.drainMs }),
  };
  if (http === undefined) return serveStdio(createGateway(opened.toolport, options), settings, context);
  const credentials = readCredentials(settings, tokenFileOf(settings, context), context);
  const gateway = createGateway(opened.toolport, {
    ...options,
    ...httpOptions(settings, http),
    auth: credentials.auth,
  });
  // Fail now, not with the first request.
  await gateway.ready();
  await serveHttp(gateway, http, { credentials, settings, context });
  return new Promise(() => {});
};

/** Resolves when the client closes standard input. */
async function serveStdio(
  gateway: Gateway,
  { drainMs = STDIO_DRAIN_MS }: ServeSettings,
  context: CommandContext,
): Promise<undefined> {
  context.onExit(async () => {
    await gateway.close({ drainMs });
    // Does not keep the process alive: it acts only while servers are still running.
    setTimeout(() => process.exit(), STDIO_STOP_MS).unref();
  });
  await gateway.stdio();
}

/** The port with the servers to offer. Servers that may not be used are left out: the others still work. */
async function openServers(settings: ServeSettings, context: CommandContext): Promise<OpenedPort> {
  const written = await context.readServers();
  context.onExit(enterServeChain(written.files));
  const { store: url, servers: chosen } = settings;
  const isGateway = (name: string) => {
    const server = written.servers.get(name);
    const commands = context.commands.map((command) => command.name);
    return server !== undefined && runsGateway(server.translated.entry, commands);
  };
  const gateways = chosen === undefined ? [...written.servers.keys()].filter(isGateway) : [];
  for (const name of gateways) {
    const { source } = written.servers.get(name)!;
    const note = `${name} (${source.file}:${source.line}) runs toolport serve and is left out. To use it, name it in --servers`;
    if (!context.isQuiet) context.info(note, "dim");
  }
  const opened = await openPort(await withStore(context, url), {
    servers: (names) =>
      chosen ?? (gateways.length === 0 ? undefined : names.filter((name) => !gateways.includes(name))),
    onMissingConsent: "leaveOut",
    asksOnTerminal: false,
    options: {
      prefix: !settings.noPrefix,
      logger: loggerOf(context),
      ...connectCallback(settings),
      ...(chosen === undefined && { restore: "lazy" }),
      ...(settings.readOnly && { filter: (_server, { annotations }) => annotations?.readOnlyHint === true }),
    },
  });
  context.onExit(reportStates(opened.toolport, context));
  const { leftOut, consentError } = opened;
  for (const [name, { message }] of leftOut) context.warn(`${name} is left out: ${message}`);
  if (Object.keys(opened.toolport.snapshot().servers).length > 0) return opened;
  if (consentError !== undefined) throw consentError;
  throw configurationError(
    "NO_SERVERS",
    gateways.length > 0
      ? "Only entries that run toolport serve are configured, so there is nothing to offer"
      : "There is no server to offer",
    "toolport add <name> <url>",
  );
}

/** Consent stays in the state of this machine; everything else is shared. */
async function withStore(context: CommandContext, url: string | undefined): Promise<CommandContext> {
  if (url === undefined) return context;
  const store = await openSharedStore(url);
  context.onExit(() => store.close());
  const opened = { store, statePath: undefined, compact: async () => {} };
  return { ...context, openStore: async () => opened };
}

/** Logs to stderr only: standard output belongs to the protocol. */
function loggerOf(context: CommandContext): Logger {
  const details = (message: string) => {
    if (context.isVerbose) context.info(message, "dim");
  };
  // A warning is one line; that of a broken policy lists each problem on a line of its own.
  const warn = (message: string) => context.warn(message.replaceAll(/\n\s*/g, " "));
  return { debug() {}, info: details, warn, error: warn };
}

/** The same problem is reported once, until the server has been ready. Problems of single users are shown with `--verbose` only. */
export function reportStates(toolport: Toolport, context: CommandContext): () => void {
  const reported = new Map<string, string>();
  return toolport.on("state", ({ server, to, error, principal }) => {
    if (principal !== undefined && !context.isVerbose) return;
    const key = JSON.stringify([server, principal]);
    const who = principal === undefined ? server : `${server} (user ${principal})`;
    if (to === "ready" && reported.delete(key)) return context.info(`${who} is available again`, "dim");
    const login = to === "authenticating" ? `needs a login: toolport auth ${shellWord(server)}` : undefined;
    const problem = to === "failed" || to === "reconnecting" ? error?.what : login;
    if (problem === undefined || reported.get(key) === problem) return;
    reported.set(key, problem);
    context.warn(`${who}: ${problem}`);
  });
}
