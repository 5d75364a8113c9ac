/** The reports of `connect()`. */

import { CatalogError, callSafely, ToolportError } from "@toolport/base";
import type { Catalog } from "../catalog/catalog.js";
import type { ConnectOutcome } from "../connection/connection-pool.js";
import type { ConnectionStatus } from "../connection/connection-state.js";
import type { ServerErrorPolicy } from "./options.js";

/** The outcome for one server. */
export interface ServerReport {
  state: ConnectionStatus;
  /** Why the server is not ready. */
  error?: ToolportError | undefined;
  /** Where the user can log in, while `state` is `"authenticating"`. */
  authUrl?: string | undefined;
  toolCount: number;
  /** Duration in milliseconds. */
  ms: number;
}

/** Returned by {@link Toolport.connect}. */
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
    next: "See errors for the error of each server",
    retryable: errors.some((error) => error.retryable),
    outcome: "unsent",
    errors,
  });
}

/** Throws if a required tool is missing. Tools are named by public name, or as `server.tool`. */
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
    next: "Check the servers that should have them, or remove them from requiredTools",
    missing,
  });
}
