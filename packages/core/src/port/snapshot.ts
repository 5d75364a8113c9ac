/** The state of a port as plain data, for consoles, logs and support requests. */

import {
  type PromptInfo,
  type ResourceInfo,
  type ResourceTemplateInfo,
  redactText,
  type ToolInfo,
  type WithheldTool,
} from "@toolport/base";
import type { Catalog, TextFinding } from "../catalog/catalog.js";
import type { NameIssue } from "../catalog/names/assign-names.js";
import { secretsOf } from "../config/known-secrets.js";
import { type ConnectionStatus, errorOf } from "../connection/connection-state.js";
import type { ServerConnection } from "../connection/server-connection.js";
import type { BreakerSnapshot } from "../execution/breaker.js";
import type { Era } from "../protocol/era.js";
import type { Port } from "./port.js";
import type { SuspensionCounts } from "./port-core.js";

/** One server in a snapshot. */
export interface ServerSnapshot {
  name: string;
  /** URL of the server without its query, or the command that starts it. */
  server_url: string;
  auth_url: string | null;
  state: ConnectionStatus;
  /** Disabled in its configuration: it is not connected. */
  disabled: boolean;
  capabilities: Record<string, unknown> | null;
  instructions: string | null;
  transport: string;
  era: Era | null;
  protocolVersion: string | null;
  serverInfo: { name: string; version: string } | null;
  toolCount: number;
  /** Why the list of its tools is incomplete; null if it is complete. */
  cut: string | null;
  error: { code: string; message: string } | null;
  /** Responses that matched no open request: their id was unknown or already answered. */
  droppedAnswers: number;
  /** While reconnecting: number of the attempt, and time of the next one. */
  attempt: number | null;
  retryAt: number | null;
  breaker: BreakerSnapshot | null;
  /** Malformed items in its results so far; models receive a note in place of each. */
  malformedContent: number;
  /** Fallback servers, in the order in which they are tried. */
  fallback: string[];
}

/** Returned by {@link Toolport.snapshot}: a superset of the shape that Cloudflare's agents use. */
export interface ToolportSnapshot {
  principal: string | null;
  /** True if logins and servers are encrypted in the store; null if nothing is saved or the store does not say. */
  sealed: boolean | null;
  servers: Record<string, ServerSnapshot>;
  /** `deferred`: models see the definition only after a search. */
  tools: (ToolInfo & { serverId: string; deferred?: true })[];
  withheldTools: WithheldTool[];
  /**
   * Dropped calls of slow callbacks that return promises, by callback: `onLog`, `on("notification")` … Counted for all users
   * together.
   */
  droppedCalls: Record<string, number>;
  /** How many calls of this port were suspended, resumed and discarded since it was created. */
  suspensions: SuspensionCounts;
  /** Tools whose texts contain invisible characters. */
  textFindings: TextFinding[];
  /** Tools that could not get their plain name, and why. */
  nameIssues: NameIssue[];
  prompts: (PromptInfo & { serverId: string })[];
  resources: (ResourceInfo & { serverId: string })[];
  resourceTemplates: (ResourceTemplateInfo & { serverId: string })[];
}

/** Everything in the snapshot is a copy or frozen. */
export function takeSnapshot({
  pool,
  catalog,
  pipeline,
  malformed,
  principal,
  parts,
  suspensionCounts,
  own,
}: Port): ToolportSnapshot {
  const deferred = own.deferred();
  const owned = <Info extends { server: string }>(infos: readonly Info[]) =>
    infos.map((info) => ({ ...info, serverId: info.server }));
  return {
    principal: principal?.name ?? null,
    sealed: parts.settings.store.sealed ?? null,
    servers: Object.fromEntries(
      pool.all().map((connection) => [
        connection.name,
        {
          ...serverSnapshot(connection, catalog),
          breaker: pipeline.targets.breakerSnapshot(connection.name),
          malformedContent: malformed.of(connection),
        },
      ]),
    ),
    tools: catalog
      .tools()
      .map((tool) => ({ ...tool, serverId: tool.server, ...(deferred.has(tool) && { deferred: true }) })),
    withheldTools: [...catalog.snapshot().withheld],
    droppedCalls: parts.drops.counts(),
    suspensions: { ...suspensionCounts },
    textFindings: catalog.textFindings(),
    nameIssues: [...catalog.snapshot().nameIssues],
    prompts: owned(catalog.prompts()),
    resources: owned(catalog.resources()),
    resourceTemplates: owned(catalog.resourceTemplates()),
  };
}

function serverSnapshot(
  { config, name, state }: ServerConnection,
  catalog: Catalog,
): Omit<ServerSnapshot, "breaker" | "malformedContent"> {
  const session = "session" in state ? state.session : undefined;
  const serverInfo = session?.serverInfo;
  const error = errorOf(state);
  return {
    name,
    server_url: address(config),
    auth_url: state.status === "authenticating" ? (state.authUrl ?? null) : null,
    state: state.status,
    disabled: !config.enabled,
    capabilities: (session?.capabilities as Record<string, unknown> | undefined) ?? null,
    instructions: session?.instructions ?? null,
    transport: session?.transport ?? config.kind,
    era: session?.era ?? null,
    protocolVersion: session?.protocolVersion ?? null,
    serverInfo: serverInfo ? { name: serverInfo.name, version: serverInfo.version } : null,
    toolCount: catalog.snapshot().counts.get(name) ?? 0,
    cut: catalog.keptOf(name)?.lists.tools.cut ?? null,
    error: error ? { code: error.code, message: error.message } : null,
    droppedAnswers: session?.droppedAnswers ?? 0,
    fallback: [...(config.fallback?.servers ?? [])],
    attempt: state.status === "reconnecting" ? state.attempt : null,
    retryAt: state.status === "reconnecting" ? state.retryAt : null,
  };
}

function address(config: ServerConnection["config"]): string {
  if ("url" in config) {
    const { origin, host, protocol, pathname } = new URL(config.url);
    return `${origin === "null" ? `${protocol}//${host}` : origin}${pathname}`;
  }
  if ("command" in config) {
    // The whole command, because a user may have to approve it before it runs.
    const line = secretsOf(config).own([config.command, ...config.args].join(" "));
    return redactText(line, { maxLength: Number.POSITIVE_INFINITY });
  }
  return "image" in config ? config.image : "custom";
}
