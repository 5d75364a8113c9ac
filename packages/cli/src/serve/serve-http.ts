/** Serves a gateway over HTTP until the command ends: listening, credentials, and the end without lost responses. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { canParseUrl } from "@toolport/base";
import type { Gateway, GatewayAuth, GatewayOptions } from "@toolport/gateway";
import { gatewayAddresses, LOOPBACK_HOSTS, loadLocalToken } from "@toolport/gateway/internal";
import type { CommandContext } from "../command.js";
import { type CliError, configurationError } from "../errors.js";
import { statePathOf } from "../open-store.js";
import { TOKEN_VARIABLE } from "./print-config.js";
import {
  isWildcard,
  type Listening,
  reachableHost,
  type ServeSettings,
  shownHost,
} from "./serve-settings.js";

/** Longer than the idle limits of usual load balancers, which otherwise send requests into a connection that closes. */
const KEEP_ALIVE_MS = 75_000;
/** The secret of the client of `--connect-client`. */
const CONNECT_SECRET_VARIABLE = "TOOLPORT_CONNECT_SECRET";
/** As in `auth.token` of `createGateway`. */
const MIN_TOKEN_LENGTH = 32;
const FLUSH_MS = 1_000;
const POLL_MS = 20;

/** How clients prove that they may use the gateway. */
type Credentials = ReturnType<typeof readCredentials>;

/** The file of the local token; undefined if another kind of credential is used. */
export function tokenFileOf(
  { issuer, noToken, tokenFile }: ServeSettings,
  context: CommandContext,
): string | undefined {
  if (issuer !== undefined || noToken) return undefined;
  if (tokenFile !== undefined) return tokenFile;
  if (context.env[TOKEN_VARIABLE]) return undefined;
  const path = statePathOf(context);
  if (path !== undefined) return join(dirname(path), "serve-token");
  throw configurationError(
    "USAGE",
    `Without state there is no place for the token of the gateway. Give --token-file, the variable ${TOKEN_VARIABLE}, or --issuer`,
    "toolport serve --http 8080 --no-state --token-file token.txt",
  );
}

export function readCredentials(
  settings: ServeSettings,
  tokenFile: string | undefined,
  context: CommandContext,
): { auth: GatewayAuth | false; tokenFile?: string } {
  const { issuer, audience, noToken, connectClient: clientId } = settings;
  if (issuer !== undefined) {
    const clientSecret = context.env[CONNECT_SECRET_VARIABLE];
    const connect = clientId !== undefined && { clientId, ...(clientSecret && { clientSecret }) };
    return { auth: { issuer, ...(audience.length > 0 && { audience }), ...(connect && { connect }) } };
  }
  if (noToken) {
    context.warn("Every program on this machine can use the gateway, because of --no-token");
    return { auth: false };
  }
  if (tokenFile === undefined) return { auth: { token: readTokenVariable(context) } };
  return { auth: { token: loadLocalToken(tokenFile, context.warn).token }, tokenFile };
}

function readTokenVariable({ env }: CommandContext): string {
  const token = env[TOKEN_VARIABLE] ?? "";
  if (token.length >= MIN_TOKEN_LENGTH) return token;
  throw configurationError(
    "USAGE",
    `${TOKEN_VARIABLE} must have at least ${MIN_TOKEN_LENGTH} characters`,
    `export ${TOKEN_VARIABLE}=$(openssl rand -hex 32)`,
  );
}

/** Where logins at upstream servers return to, if users can log in through this gateway. */
export function connectCallback({ url, path, connectClient }: ServeSettings): { callbackUrl?: string } {
  if (connectClient === undefined || url === undefined || !canParseUrl(url)) return {};
  return { callbackUrl: `${gatewayAddresses(url, path).connectUrl}/callback` };
}

/** The options of the gateway that concern HTTP. */
export function httpOptions(settings: ServeSettings, { host }: Listening): GatewayOptions {
  const { url, path, allowHosts, allowOrigins } = settings;
  const own = isWildcard(host) ? [] : [shownHost(host)];
  const named = url !== undefined && canParseUrl(url) ? [new URL(url).hostname] : [];
  return {
    path,
    allowedHosts: [...new Set([...LOOPBACK_HOSTS, ...own, ...named, ...allowHosts])],
    allowedOrigins: allowOrigins,
    ...(url !== undefined && { url }),
  };
}

/** Listens, and prints the URL. */
export async function serveHttp(
  gateway: Gateway,
  listening: Listening,
  {
    credentials,
    settings,
    context,
  }: { credentials: Credentials; settings: ServeSettings; context: CommandContext },
): Promise<void> {
  const server = createServer((request, response) => gateway.node(request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listen(server, listening);
  context.onExit(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await gateway.close();
    await endConnections(server, closed);
  });
  const url = `http://${reachableHost(listening.host)}:${port}${settings.path}`;
  show(context, url, credentials, settings);
  if (!listening.isLoopback && settings.url === undefined && settings.allowHosts.length === 0)
    context.warn(
      "Requests with the name of this machine are refused. Give it with --allow-host, or the public address with --url",
    );
}

function show(
  context: CommandContext,
  url: string,
  { auth, tokenFile }: Credentials,
  settings: ServeSettings,
): void {
  if (context.form === "json")
    return context.printJson(
      { url, ...(settings.url !== undefined && { publicUrl: settings.url }), tokenFile: tokenFile ?? null },
      { isLine: true },
    );
  context.print(url);
  if (context.isQuiet) return;
  if (tokenFile !== undefined)
    context.info(`Clients send the token in ${tokenFile} (Authorization: Bearer …)`);
  else if (auth !== false && settings.issuer !== undefined)
    context.info(`Clients send access tokens of ${settings.issuer}`);
  else if (auth !== false) context.info(`Clients send the token in ${TOKEN_VARIABLE}`);
  if (settings.url !== undefined) context.info(`Clients connect to ${settings.url}`);
}

async function listen(server: Server, { host, port }: Listening): Promise<number> {
  await once(server.listen(port, host), "listening").catch((error) => {
    throw cannotListen(error, host, port);
  });
  return (server.address() as AddressInfo).port;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses the port",
  EACCES: "this user may not use the port",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the name is unknown",
};

const cannotListen = ({ code = "" }: NodeJS.ErrnoException, host: string, port: number): CliError =>
  configurationError(
    "CANNOT_LISTEN",
    `Cannot listen on ${shownHost(host)}:${port}: ${REASONS[code] ?? code}`,
    `toolport serve --http ${shownHost(host)}:0`,
  );

/** Responses that have ended may still be on their way. */
async function endConnections(server: Server, closed: Promise<void>): Promise<void> {
  const until = performance.now() + FLUSH_MS;
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  server.closeIdleConnections();
  while (!isClosed && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    server.closeIdleConnections();
  }
  server.closeAllConnections();
  await closed;
}
