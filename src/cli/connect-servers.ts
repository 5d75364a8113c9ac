/** Brings servers up while the user watches, and tells how each fared. */
import type { ConnectionStatus } from "../connection/connection-state.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError, type ConnectionErrorCode } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ServerReport } from "../port/report.js";
import type { CliError } from "./cli-error.js";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { disabledServer } from "./load-servers.js";
import { plainBlock, plainLine } from "./plain-text.js";
import type { OpenedPort, Shell } from "./shell.js";
import { errorDocument } from "./tell-error.js";

/** How a server fared, in one word. */
export type ServerStatus = "ok" | "auth" | "offline" | "error" | "disabled";

export interface ServerOutcome {
  readonly name: string;
  readonly status: ServerStatus;
  readonly state: ConnectionStatus;
  /** Why it cannot be used. */
  readonly error: Error | undefined;
  readonly authUrl: string | undefined;
  readonly toolCount: number;
  readonly ms: number;
}

/** Nobody answered; other failures mean that somebody did, but not well. */
const OFFLINE: readonly ConnectionErrorCode[] = [
  ...(["SPAWN_FAILED", "UNREACHABLE", "CONNECT_TIMEOUT", "RESTART_LIMIT"] as const),
  ...(["CIRCUIT_OPEN", "CLOSED", "SESSION_LOST", "STREAM_CUT"] as const),
];

/** Connects all servers of the port, or those named. Never throws for a server that fails or was left out. */
export async function connectServers(
  shell: Shell,
  { toolport, leftOut, sources }: OpenedPort,
  names?: readonly string[],
): Promise<ServerOutcome[]> {
  const inPort = names?.filter((name) => !leftOut.has(name));
  const progress = shell.progress(names === undefined ? "Connecting" : `Connecting to ${names.join(", ")}`);
  const waiting = new Set<string>();
  const stop = toolport.on("state", ({ server, to }) => {
    if (["connecting", "connected", "discovering"].includes(to)) waiting.add(server);
    else waiting.delete(server);
    if (shell.isVerbose) shell.tell(`${server}: ${to}`, "dim");
    if (waiting.size > 0) progress.update(`Connecting to ${[...waiting].join(", ")}`);
  });
  try {
    const report =
      inPort?.length === 0
        ? { servers: {} }
        : await toolport.connect({ signal: shell.signal, ...(inPort !== undefined && { servers: inPort }) });
    const all = new Set([...Object.keys(toolport.snapshot().servers), ...leftOut.keys()]);
    // In the order of the files; servers of the saved state come last.
    const known = [...new Set([...Object.keys(sources), ...all])].filter(
      (name) => all.has(name) && (names?.includes(name) ?? true),
    );
    return known.map((name) => {
      const found: ServerReport | undefined = Object.hasOwn(report.servers, name)
        ? report.servers[name]
        : undefined;
      if (found === undefined) return leftDown(name, leftOut.get(name));
      const { state, error, authUrl, toolCount, ms } = found;
      return { name, status: statusOf(state, error), state, error, authUrl, toolCount, ms };
    });
  } finally {
    stop();
    progress.done();
  }
}

function statusOf(state: ConnectionStatus, error: Error | undefined): ServerStatus {
  if (error === undefined && state === "ready") return "ok";
  if (state === "authenticating" || error instanceof AuthError) return "auth";
  if (error instanceof ToolCallError && error.phase === "connect") return "offline";
  return error instanceof ConnectionError && OFFLINE.includes(error.code) ? "offline" : "error";
}

/** A server that is switched off, or that the user has not agreed to. */
function leftDown(name: string, error: CliError = disabledServer(name)): ServerOutcome {
  return {
    ...{ name, status: error.code === "DISABLED" ? "disabled" : "error", state: "closed" },
    ...{ error, authUrl: undefined, toolCount: 0, ms: 0 },
  };
}

/** Connects one server that has to be there. */
export async function requireServer(shell: Shell, opened: OpenedPort, name: string): Promise<ServerOutcome> {
  const [outcome] = await connectServers(shell, opened, [name]);
  if (outcome?.error !== undefined) throw outcome.error;
  return outcome!;
}

/**
 * Connects all servers, or the one that was named, for a list. What failed is told, and is an error only if there is
 * nothing to list.
 */
export async function connectForList(
  shell: Shell,
  opened: OpenedPort,
  server: string | undefined,
): Promise<ListedErrors> {
  if (server !== undefined) await requireServer(shell, opened, server);
  const outcomes = server === undefined ? await connectServers(shell, opened) : [];
  const failed = outcomes.filter(({ status }) => status !== "ok" && status !== "disabled");
  for (const { name, error } of failed)
    shell.warn(plainBlock(`${plainLine(name)}: ${errorDocument(error).message}`).split("\n"));
  const isNothing = failed.length > 0 && failed.length === outcomes.length;
  return {
    errors: failed.map(({ name, error }) => ({ server: name, ...errorDocument(error) })),
    exitCode: isNothing ? exitCodeOf(failed[0]!.error) : EXIT.ok,
  };
}

export interface ListedErrors {
  readonly errors: readonly Readonly<Record<string, unknown>>[];
  readonly exitCode: number;
}
