/** What `connect()` tells about each server. */
import type { Catalog } from "../catalog/catalog.js";
import type { ConnectOutcome } from "../connection/connection-pool.js";
import type { ConnectionStatus } from "../connection/connection-state.js";
import { CatalogError } from "../errors/catalog-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { callSafely } from "../util/call-safely.js";
import type { ServerErrorPolicy } from "./options.js";

/** How one server came up. */
export interface ServerReport {
  state: ConnectionStatus;
  /** Why it is not ready. */
  error?: ToolportError | undefined;
  /** Where the user can authorize, while `state` is `"authenticating"`. */
  authUrl?: string | undefined;
  toolCount: number;
  /** How long it took. */
  ms: number;
}

/** What {@link Toolport.connect} returns. */
export interface ConnectReport {
  servers: Record<string, ServerReport>;
}

export function reportOf({ connection, ms, error }: ConnectOutcome, catalog: Catalog): ServerReport {
  const { state } = connection;
  return {
    state: state.status,
    ...(error !== undefined && { error }),
    ...(state.status === "authenticating" && { authUrl: state.authUrl }),
    toolCount: catalog.snapshot().counts.get(connection.name) ?? 0,
    ms,
  };
}

/** Throws the errors or passes them to a callback, as `onServerError` says. */
export function handleFailures(
  outcomes: readonly ConnectOutcome[],
  policy: ServerErrorPolicy | undefined,
  report: (error: unknown) => void,
): void {
  const failures = outcomes.flatMap(({ connection, error }) =>
    error === undefined ? [] : [{ server: { name: connection.name }, error }],
  );
  if (policy === "throw") throwFailures(failures.map(({ error }) => error));
  if (typeof policy !== "function") return;
  for (const { server, error } of failures) callSafely(() => policy(server, error), report);
}

/** Throws a single error as it is, and several as one error that names them all. */
export function throwFailures(errors: readonly ToolportError[]): void {
  if (errors.length === 0) return;
  if (errors.length === 1) throw errors[0];
  throw new ToolportError({
    code: "SERVERS_FAILED",
    what: `${errors.length} servers could not be connected: ${errors.map((error) => error.message).join(" ")}`,
    next: "Look at errors for each of them",
    retryable: errors.some((error) => error.retryable),
    outcome: "unsent",
    errors,
  });
}

/** Tools that a program cannot do without: by public name, or as `server.tool`. */
export function checkRequiredTools(required: readonly string[], catalog: Catalog): void {
  const missing = required.filter((name) => {
    if (catalog.entry(name) !== undefined) return false;
    return !catalog
      .tools()
      .some(({ server, sourceName }) => name === `${server}.${sourceName}` || name === sourceName);
  });
  if (missing.length === 0) return;
  throw new CatalogError({
    code: "REQUIRED_TOOLS_MISSING",
    what: `Required tools are missing: ${missing.join(", ")}`,
    next: "Look at the servers that should have them, or take them out of requiredTools",
    missing,
  });
}
