/** The result of a check, and the checks of this machine and of one server before it is connected: Node, state, files; its program, network path, authorization server and saved tokens. */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { promisify } from "node:util";
import {
  ConfigError,
  type ConfigIssue,
  fromSystemError,
  readField,
  StateError,
  ToolportError,
  toToolportError,
} from "@toolport/base";
import type { LoadedConfig } from "@toolport/config";
import { createHttpClient, inspectLogin, type ServerConfig } from "@toolport/core/internal";
import { redirectError } from "@toolport/http";
import { createProxyRoutes, type ProxyServer } from "@toolport/http/proxy-routes";
import type { Store } from "@toolport/stores";
import type { CommandContext, WrittenServers } from "../command.js";
import { EXIT } from "../errors.js";
import { plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";

export type FindingStatus = "ok" | "warn" | "fail" | "skip";

export interface Finding {
  /** Name of the check: `node`, `config`, `command` … */
  readonly check: string;
  readonly server?: string | undefined;
  readonly status: FindingStatus;
  readonly message: string;
  /** How to fix it: a command or a sentence. */
  readonly next?: string | undefined;
  /** Exit code for a failure. @default 1 */
  readonly exitCode?: number | undefined;
}

/** Makes the findings of one check. */
export function findingsOf(check: string, server?: string) {
  const of =
    (status: FindingStatus) =>
    (message: string, next?: string, exitCode?: number): Finding => ({
      check,
      server,
      status,
      message,
      next,
      exitCode,
    });
  return { ok: of("ok"), warn: of("warn"), fail: of("fail"), skip: of("skip") };
}

const OLDEST: readonly [number, number] = [20, 19];

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  const { ok, fail } = findingsOf("node");
  if (!isOld) return ok(`Node ${version}`);
  return fail(
    `Node ${version} is too old: ${OLDEST.join(".")} or later is required`,
    "Install a newer Node: https://nodejs.org",
    EXIT.other,
  );
}

/** Reports why the store may lose records that it has acknowledged, such as suspended calls. */
export async function checkDurability(store: Pick<Store, "durabilityRisk">): Promise<Finding[]> {
  const { warn } = findingsOf("state");
  try {
    const risk = await store.durabilityRisk?.();
    // State in memory is reported by `checkStore`.
    if (risk === undefined || risk.isExpected) return [];
    return [warn(`Suspended calls may be lost: ${risk.what}`, risk.next)];
  } catch (error) {
    const { what, next = "toolport state path" } = toToolportError(error);
    return [warn(`Whether the store is durable is unknown: ${what}`, next)];
  }
}

/** Opens the state, which migrates its tables, and writes, reads and deletes an encrypted record. */
export async function checkStore(context: CommandContext): Promise<Finding> {
  const { ok, warn, fail } = findingsOf("state");
  try {
    const { store, statePath } = await context.openStore();
    const key = `doctor/${randomBytes(8).toString("hex")}`;
    await store.put(key, { here: true }, { secret: true, ttlMs: 60_000 });
    const record = await store.get(key);
    await store.delete(key);
    const count = (await store.list("")).length;
    if (record?.sealed !== true && statePath !== undefined)
      throw new StateError({ code: "CORRUPT", what: "A record that was just written is not encrypted" });
    if (statePath !== undefined) return ok(`${statePath}: readable, writable, up to date, ${count} records`);
    return warn(
      "State is in memory: logins and lists are lost at the end of every command",
      "Remove --no-state and TOOLPORT_STATE=off",
    );
  } catch (error) {
    const { what, next = "toolport state path" } = toToolportError(error);
    return fail(what, next, EXIT.other);
  }
}

/** Reads the servers of the files. An unreadable file becomes an issue. */
export async function readFiles(context: CommandContext): Promise<WrittenServers> {
  try {
    return await context.readServers();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { servers: new Map(), files: [], issues: error.issues };
  }
}

/** @param config issues and warnings that appeared when the servers were expanded */
export function checkConfig(
  { files, servers, issues: unreadable }: WrittenServers,
  config: Pick<LoadedConfig, "issues" | "warnings"> | undefined,
  server: string | undefined,
): Finding[] {
  const { ok, warn, fail } = findingsOf("config");
  // An unreadable file is reported even if only one server is checked.
  const concerns = ({ path }: ConfigIssue) =>
    server === undefined || path === "" || path.split(/[.[\]]/).includes(server);
  const issues = (config?.issues ?? unreadable).filter(concerns);
  const warnings = (config?.warnings ?? []).filter(concerns);
  const countIn = (file: string) => [...servers.values()].filter(({ source }) => source.file === file).length;
  const findings = [
    ...files.map((file) => ok(`${file}: ${plural(countIn(file), "server")}`)),
    ...issues.map((issue) =>
      fail(
        placed(issue),
        issue.file === undefined ? "toolport add <name> <url>" : fixOf(issue),
        EXIT.configuration,
      ),
    ),
    ...warnings.map((issue) => warn(placed(issue), fixOf(issue))),
  ];
  if (servers.size > 0 || issues.length > 0) return findings;
  const none = warn(
    "No configuration file with servers was found for this project or user",
    "toolport add <name> <url>, or toolport import",
  );
  return [...findings, none];
}

/** An issue without a line concerns the file itself. */
const fixOf = (issue: ConfigIssue): string =>
  issue.line === undefined ? `Check that ${issue.file} exists and can be read` : `Edit ${placeOf(issue)}`;

const placeOf = ({ file = "", line }: ConfigIssue): string =>
  `${file}${line === undefined ? "" : `:${line}`}`;

const placed = (issue: ConfigIssue): string =>
  [placeOf(issue), issue.path, issue.message].filter((part) => part !== "").join(": ");

const run = promisify(execFile);
const ENGINE_TIMEOUT_MS = 10_000;

/** @param where location of the entry of the server, for advice */
export async function checkCommand(
  config: Extract<ServerConfig, { kind: "stdio" | "docker" }>,
  hostEnv: NodeJS.ProcessEnv,
  where: string,
): Promise<Finding[]> {
  const { name: server } = config;
  if (config.kind === "docker") {
    const program = programFinding(config.engine, findProgram(config.engine, "", hostEnv), server, where);
    return program.status === "fail" ? [program] : [program, await checkEngine(config, hostEnv)];
  }
  const { command, cwd } = config;
  // PATH may be set in the entry.
  const env = { ...hostEnv, ...config.env.reveal() };
  const program = programFinding(command, findProgram(command, cwd, env), server, where);
  const isThere = cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere) return [program];
  const missing = findingsOf("command", server).fail(
    `The working directory ${cwd} does not exist`,
    `Correct "cwd" in ${where}, or create the directory`,
    EXIT.unreachable,
  );
  return [missing, program];
}

function programFinding(command: string, file: string | undefined, server: string, where: string): Finding {
  const { ok, fail } = findingsOf("command", server);
  if (file !== undefined) return ok(`${command} is ${file}`);
  const [message, next] = /[\\/]/.test(command)
    ? [`${command} is not an executable file`, `Correct "command" in ${where}, or make the file executable`]
    : [`${command} is not on PATH`, `Install ${command}, or give its full path in ${where}`];
  return fail(message, next, EXIT.unreachable);
}

async function checkEngine(
  { name: server, engine, dockerHost }: Extract<ServerConfig, { kind: "docker" }>,
  env: NodeJS.ProcessEnv,
): Promise<Finding> {
  const { ok, fail } = findingsOf("docker", server);
  const options = {
    env: { ...env, ...(dockerHost !== undefined && { DOCKER_HOST: dockerHost }) },
    timeout: ENGINE_TIMEOUT_MS,
  };
  try {
    const { stdout } = await run(engine, ["version", "--format", "{{.Server.Version}}"], options);
    return ok(`The container engine responds, version ${stdout.trim() || "unknown"}`);
  } catch {
    const message = `${engine} is installed, but its daemon does not respond`;
    return fail(message, `Start it, then try: ${engine} version`, EXIT.unreachable);
  }
}

/** Finds the file that the operating system would run; undefined if there is none, or it is not executable. */
function findProgram(command: string, cwd = "", env: NodeJS.ProcessEnv): string | undefined {
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

const TIMEOUT_MS = 10_000;
/** Larger clock skews may make tokens and signatures invalid. */
const SKEW_MS = 60_000;

/** A plain GET request: its findings, and the response without its body, if there was one. */
export async function probeAddress(
  config: Extract<ServerConfig, { kind: "http" | "sse" | "websocket" }>,
  signal: AbortSignal,
): Promise<{ findings: readonly Finding[]; answer?: Response }> {
  const server = config.name;
  const url = new URL(config.url);
  url.protocol = url.protocol.replace("ws", "http");
  const failed = (check: string, message: string, next: string) => ({
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
    const cause = ToolportError.isInstance(error) ? error : fromSystemError(error, { server });
    const isLate = readField(error, "name") === "TimeoutError";
    const what = isLate
      ? `The server did not respond within ${TIMEOUT_MS / 1000} s`
      : "The server could not be reached";
    const check = cause?.retryable === false && url.protocol === "https:" ? "tls" : "http";
    return failed(check, cause?.what ?? what, cause?.next ?? "Check the URL and the network");
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

/** @param answer the response to a request without a token; `store` is undefined if the state cannot be read */
export async function checkOAuth(
  config: Extract<ServerConfig, { kind: "http" | "sse" }>,
  answer: Response,
  store: Store | undefined,
): Promise<Finding[]> {
  const server = config.name;
  const { kind, authorization, tokens } = await inspectLogin(config, { answer, store });
  const { ok, warn, fail, skip } = findingsOf("oauth", server);
  if (kind === "none") return [skip("The server requires no login")];
  if (kind === "unmanaged") return [skip("Toolport does not manage the authorization of this server")];
  return [checkAuthorization(), tokenFinding(server, tokens)];

  /** Checks that the authorization server supports everything a login needs. */
  function checkAuthorization(): Finding {
    if (authorization === undefined || authorization instanceof Error) {
      const { what = "", next = "Ask the server's operator" } = authorization ?? {};
      return fail(what, next, EXIT.authorization);
    }
    const { issuer, hasPkce, hasClient } = authorization;
    if (!hasPkce) {
      const message = `${issuer} does not advertise PKCE with S256, which MCP requires`;
      return fail(message, "Ask the server's operator", EXIT.authorization);
    }
    if (hasClient) return ok(`${issuer} is its authorization server, and its metadata is valid`);
    const message = `${issuer} does not support dynamic client registration`;
    return warn(message, "Register a client there and set oauth.clientId");
  }
}

function tokenFinding(server: string, tokens: Awaited<ReturnType<typeof inspectLogin>>["tokens"]): Finding {
  const { ok, fail, skip } = findingsOf("token", server);
  const login = `toolport auth ${shellWord(server)}`;
  if (tokens === undefined) return skip("Not logged in", login);
  const { expiresAt, isExpired, isRenewable } = tokens;
  if (!isExpired) {
    const end = expiresAt === undefined ? "" : ` until ${new Date(expiresAt).toISOString()}`;
    return ok(`The token is valid${end}`);
  }
  if (isRenewable) return ok("The token has expired; the next call renews it");
  return fail("The token has expired, and there is no refresh token", login, EXIT.authorization);
}
