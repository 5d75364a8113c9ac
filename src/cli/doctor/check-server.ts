/** Checks of one server before it is connected: its program or container engine, the network path, its authorization server and the saved tokens. */
import { execFile } from "node:child_process";
import { lookup } from "node:dns/promises";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { promisify } from "node:util";
import { tokensKey } from "../../auth/credential-records.js";
import { type AuthorizationInfo, discoverAuthorization } from "../../auth/discover-authorization.js";
import { readChallenge } from "../../auth/server-oauth.js";
import { isExpired, readTokenRecord, type TokenRecord } from "../../auth/token-records.js";
import type {
  DockerConfig,
  HttpConfig,
  SseConfig,
  StdioConfig,
  WebSocketConfig,
} from "../../config/server-config.js";
import { fromSystemError, readField } from "../../errors/foreign-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { serverIdentity } from "../../state/server-keys.js";
import type { Store } from "../../state/store.js";
import { createHttpClient } from "../../transports/create-transport.js";
import { createGuardedFetch } from "../../transports/http/network/guarded-fetch.js";
import { createProxyRoutes, type ProxyServer } from "../../transports/http/network/proxy/proxy-routes.js";
import { redirectError } from "../../transports/http/network/redirect.js";
import { EXIT, shellWord } from "../errors.js";
import { type Finding, findingsOf } from "./check-machine.js";

const run = promisify(execFile);
const ENGINE_TIMEOUT_MS = 10_000;

/** @param where location of the entry of the server, for advice */
export async function checkCommand(
  config: StdioConfig | DockerConfig,
  hostEnv: NodeJS.ProcessEnv | Readonly<Record<string, string | undefined>>,
  where: string,
): Promise<Finding[]> {
  if (config.kind === "docker") return checkEngine(config, hostEnv, where);
  const { name: server, command, cwd } = config;
  // PATH may be set in the entry.
  const env = { ...hostEnv, ...config.env.reveal() };
  const program = foundProgram(command, findProgram(command, cwd, env), server, where);
  if (cwd === undefined || isFolder(cwd)) return [program];
  const missing = findingsOf("command", server).fail(
    `The working directory ${cwd} does not exist`,
    `Correct "cwd" in ${where}, or create the directory`,
    EXIT.unreachable,
  );
  return [missing, program];
}

function foundProgram(command: string, file: string | undefined, server: string, where: string): Finding {
  const { ok, fail } = findingsOf("command", server);
  if (file !== undefined) return ok(`${command} is ${file}`);
  const [message, next] = /[\\/]/.test(command)
    ? [`${command} is not an executable file`, `Correct "command" in ${where}, or make the file executable`]
    : [`${command} is not on PATH`, `Install ${command}, or give its full path in ${where}`];
  return fail(message, next, EXIT.unreachable);
}

async function checkEngine(
  { name: server, engine, dockerHost }: DockerConfig,
  env: Readonly<Record<string, string | undefined>>,
  where: string,
): Promise<Finding[]> {
  const program = foundProgram(engine, findProgram(engine, undefined, env), server, where);
  if (program.status === "fail") return [program];
  const { ok, fail } = findingsOf("docker", server);
  const hostEnv = { ...env, ...(dockerHost !== undefined && { DOCKER_HOST: dockerHost }) };
  try {
    const options = { env: hostEnv as NodeJS.ProcessEnv, timeout: ENGINE_TIMEOUT_MS };
    const { stdout } = await run(engine, ["version", "--format", "{{.Server.Version}}"], options);
    return [program, ok(`The container engine responds, version ${stdout.trim() || "unknown"}`)];
  } catch {
    const message = `${engine} is installed, but its daemon does not respond`;
    return [program, fail(message, `Start it, then try: ${engine} version`, EXIT.unreachable)];
  }
}

/** Finds the file that the operating system would run; undefined if there is none, or it is not executable. */
function findProgram(
  command: string,
  cwd = "",
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const isPath = /[\\/]/.test(command);
  const path = Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1] ?? "";
  const folders = isPath ? [isAbsolute(command) ? "" : resolve(cwd)] : path.split(delimiter).filter(Boolean);
  const endings =
    process.platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  return folders
    .flatMap((folder) =>
      endings.map((ending) => (folder === "" ? command + ending : join(folder, command + ending))),
    )
    .find(isRunnable);
}

function isRunnable(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The result of a plain GET request. */
interface Probe {
  readonly findings: readonly Finding[];
  /** The response without its body; undefined if there was none. */
  readonly answer?: Response | undefined;
}

const TIMEOUT_MS = 10_000;
/** Larger clock skews may make tokens and signatures invalid. */
const SKEW_MS = 60_000;

export async function probeAddress(
  config: HttpConfig | SseConfig | WebSocketConfig,
  signal: AbortSignal,
): Promise<Probe> {
  const server = config.name;
  const url = new URL(config.url);
  url.protocol = url.protocol.replace("ws", "http");
  const failed = (check: string, message: string, next: string): Probe => ({
    findings: [findingsOf(check, server).fail(message, next, EXIT.unreachable)],
  });
  const option = config.proxy?.reveal() ?? "env";
  let via: ProxyServer | undefined;
  try {
    via = createProxyRoutes(option)(url);
  } catch (error) {
    const { what, next = "Correct it" } = toToolportError(error);
    return failed("proxy", what, next);
  }
  try {
    // Behind a proxy, only the proxy may be able to resolve the name.
    if (via === undefined) await lookup(url.hostname.replace(/^\[|\]$/g, ""));
  } catch (error) {
    const message = `The host ${url.hostname} was not found (${readField(error, "code") ?? "unknown reason"})`;
    return failed("dns", message, "Check the host name and the network");
  }
  const client = await createHttpClient({ proxy: option });
  const startedAt = Date.now();
  try {
    // Use our own client: unlike `fetch`, no environment variable disables its certificate checks.
    const answer = await client.fetch(url, {
      headers: { accept: "application/json, text/event-stream" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await answer.body?.cancel();
    const { ok } = findingsOf("proxy", server);
    const proxy = via === undefined ? [] : [ok(`Connects through the proxy ${via.host} (${via.source})`)];
    const clock = checkClock(answer, server, startedAt);
    return { findings: [...proxy, statusFinding(answer, url, server), ...clock], answer };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const known = ToolportError.isInstance(error) ? error : fromSystemError(error, { server });
    const isLate = readField(error, "name") === "TimeoutError";
    const what = isLate
      ? `The server did not respond within ${TIMEOUT_MS / 1000} s`
      : "The server could not be reached";
    const check = known?.retryable === false && url.protocol === "https:" ? "tls" : "http";
    return failed(check, known?.what ?? what, known?.next ?? "Check the URL and the network");
  } finally {
    await client.close();
  }
}

function statusFinding({ status, headers }: Response, url: URL, server: string): Finding {
  const { ok, warn, fail } = findingsOf(url.protocol === "https:" ? "tls and http" : "http", server);
  const message = `${url.host} responds with HTTP ${status} to a plain GET`;
  if (status >= 500) return fail(message, "Check the server's log", EXIT.unreachable);
  if (status === 404) return warn(`${message}: there is nothing at this path`, "Check the path of its URL");
  if (status >= 300 && status < 400) {
    const { what, next = "Check its URL" } = redirectError({ status, headers }, url, "POST");
    return warn(`${message}. ${what}`, next);
  }
  return ok(message);
}

function checkClock({ headers }: Response, server: string, startedAt: number): Finding[] {
  const endedAt = Date.now();
  const theirs = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(theirs)) return [];
  // The header has a resolution of one second, and the response took some time.
  const skewMs = theirs < startedAt - 1_000 ? theirs - startedAt : theirs > endedAt ? theirs - endedAt : 0;
  const { ok, warn } = findingsOf("clock", server);
  if (Math.abs(skewMs) < SKEW_MS) return [ok("The server's clock and this machine's clock agree")];
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  const message = `The server's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} this machine's; tokens may look expired`;
  return [warn(message, "Synchronize this machine's clock (NTP)")];
}

/**
 * @param answer the response to a request without a token
 * @param store undefined if the state cannot be read
 */
export async function checkOAuth(
  config: HttpConfig | SseConfig,
  answer: Response | undefined,
  store: Store | undefined,
): Promise<Finding[]> {
  const { name: server, oauth, authProvider } = config;
  const tokens = await tokensOf(config, store);
  const isWanted = answer?.status === 401 || tokens !== undefined || typeof oauth === "object";
  if (oauth === false || authProvider !== undefined || !isWanted) {
    const why = isWanted
      ? "Toolport does not manage the authorization of this server"
      : "The server requires no login";
    return [findingsOf("oauth", server).skip(why)];
  }
  return [await checkChain(config, answer), ...tokenFindings(server, tokens)];
}

async function checkChain(config: HttpConfig | SseConfig, answer: Response | undefined): Promise<Finding> {
  const { name: server, oauth } = config;
  const options = typeof oauth === "object" ? oauth.reveal() : {};
  const serverUrl = new URL(config.url);
  const client = await createHttpClient({ proxy: config.proxy?.reveal() });
  try {
    const challenge = answer === undefined ? undefined : await readChallenge(answer);
    const info = await discoverAuthorization({
      serverUrl,
      fetch: createGuardedFetch(client, { serverUrl, allowedHosts: options.allowedHosts }),
      resourceMetadataUrl: challenge?.resourceMetadataUrl,
      expectedIssuer: options.issuer,
    });
    const hasClient = options.clientId !== undefined || options.clientMetadataUrl !== undefined;
    return checkMetadata(info, server, hasClient);
  } catch (error) {
    const { what, next = "Ask the server's operator" } = toToolportError(error);
    return findingsOf("oauth", server).fail(what, next, EXIT.authorization);
  } finally {
    await client.close();
  }
}

/** Checks that the metadata supports everything a login needs. */
function checkMetadata({ issuer, metadata }: AuthorizationInfo, server: string, hasClient: boolean): Finding {
  const { ok, warn, fail } = findingsOf("oauth", server);
  // Toolport refuses to log in unless the authorization server lists S256.
  if (metadata !== undefined && metadata.code_challenge_methods_supported?.includes("S256") !== true) {
    const message = `${issuer} does not advertise PKCE with S256, which MCP requires`;
    return fail(message, "Ask the server's operator", EXIT.authorization);
  }
  if (metadata !== undefined && metadata.registration_endpoint === undefined && !hasClient) {
    const message = `${issuer} does not support dynamic client registration`;
    return warn(message, "Register a client there and set oauth.clientId");
  }
  return ok(`${issuer} is its authorization server, and its metadata is valid`);
}

async function tokensOf(
  config: HttpConfig | SseConfig,
  store: Store | undefined,
): Promise<TokenRecord | undefined> {
  const serverUrl = new URL(config.url);
  const owner = { principal: undefined, identity: serverIdentity(config) };
  const record = await store?.get(tokensKey(owner)).catch(() => undefined);
  return record?.sealed === true
    ? readTokenRecord(record.value, { serverUrl, issuer: undefined })
    : undefined;
}

function tokenFindings(server: string, tokens: TokenRecord | undefined): Finding[] {
  const { ok, fail, skip } = findingsOf("token", server);
  const login = `toolport auth ${shellWord(server)}`;
  if (tokens === undefined) return [skip("Not logged in", login)];
  const { expiresAt, refreshToken } = tokens;
  if (!isExpired(tokens, Date.now())) {
    const end = expiresAt === undefined ? "" : ` until ${new Date(expiresAt).toISOString()}`;
    return [ok(`The token is valid${end}`)];
  }
  if (refreshToken !== undefined) return [ok("The token has expired; the next call renews it")];
  return [fail("The token has expired, and there is no refresh token", login, EXIT.authorization)];
}
