/** Brings servers up while the user watches, and tells how each fared. */
import type { ConnectionStatus } from "../connection/connection-state.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError, type ConnectionErrorCode } from "../errors/connection-error.js";
import { CliError } from "./cli-error.js";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
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

/** Connects all servers of the port, or those named. Never throws for a server that fails. */
export async function connectServers(
  shell: Shell,
  { toolport, untrusted }: OpenedPort,
  names?: readonly string[],
): Promise<ServerOutcome[]> {
  const progress = shell.progress(names === undefined ? "Connecting" : `Connecting to ${names.join(", ")}`);
  const waiting = new Set<string>();
  const stop = toolport.on("state", ({ server, to }) => {
    if (["connecting", "connected", "discovering"].includes(to)) waiting.add(server);
    else waiting.delete(server);
    if (shell.isVerbose) shell.tell(`${server}: ${to}`, "dim");
    if (waiting.size > 0) progress.update(`Connecting to ${[...waiting].join(", ")}`);
  });
  try {
    const report = await toolport.connect({
      signal: shell.signal,
      ...(names !== undefined && { servers: names }),
    });
    const known = Object.keys(toolport.snapshot().servers).filter((name) => names?.includes(name) ?? true);
    return known.map((name) => {
      const found = report.servers[name];
      if (found === undefined) return leftDown(name, untrusted[name]);
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
  return error instanceof ConnectionError && OFFLINE.includes(error.code) ? "offline" : "error";
}

/** Nobody wants it up, or nobody has agreed to it. */
function leftDown(name: string, refused: CliError | undefined): ServerOutcome {
  return {
    ...{ name, status: refused === undefined ? "disabled" : "error", state: "closed" },
    ...{ error: refused ?? disabled(name), authUrl: undefined, toolCount: 0, ms: 0 },
  };
}

const disabled = (name: string): CliError =>
  new CliError({
    code: "DISABLED",
    message: `The server ${JSON.stringify(name)} is disabled in its file`,
    next: `toolport enable ${shellWord(name)}`,
    exitCode: EXIT.configuration,
    server: name,
  });

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
