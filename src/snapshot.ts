/** The whole state of a port as plain data: for consoles, logs and support requests. */
import type { Catalog } from "./catalog/catalog.js";
import type { ToolInfo, WithheldTool } from "./catalog/tool-info.js";
import { type ConnectionState, type ConnectionStatus, errorOf } from "./connection/connection-state.js";
import type { ServerConnection } from "./connection/server-connection.js";
import type { Era } from "./protocol/era.js";

/** One server in a snapshot. */
export interface ServerSnapshot {
  name: string;
  /** The server's URL without its query, or the command that starts it. */
  server_url: string;
  auth_url: string | null;
  state: ConnectionStatus;
  capabilities: Record<string, unknown> | null;
  instructions: string | null;
  transport: string;
  era: Era | null;
  protocolVersion: string | null;
  serverInfo: { name: string; version: string } | null;
  toolCount: number;
  error: { code: string; message: string } | null;
  /** Attempt under way and when the next one is made, while reconnecting. */
  attempt: number | null;
  retryAt: number | null;
}

/** What {@link Toolport.snapshot} returns: a superset of the shape Cloudflare's agents know. */
export interface ToolportSnapshot {
  servers: Record<string, ServerSnapshot>;
  tools: (ToolInfo & { serverId: string })[];
  withheldTools: WithheldTool[];
  prompts: unknown[];
  resources: unknown[];
  resourceTemplates: unknown[];
}

/** Takes the picture. Everything in it is a copy or frozen. */
export function takeSnapshot(connections: readonly ServerConnection[], catalog: Catalog): ToolportSnapshot {
  return {
    servers: Object.fromEntries(
      connections.map((connection) => [connection.name, serverSnapshot(connection, catalog)]),
    ),
    tools: catalog.tools().map((tool) => ({ ...tool, serverId: tool.server })),
    withheldTools: catalog.withheld(),
    prompts: [],
    resources: [],
    resourceTemplates: [],
  };
}

function serverSnapshot({ config, name, state }: ServerConnection, catalog: Catalog): ServerSnapshot {
  const session = "session" in state ? state.session : undefined;
  const error = errorOf(state);
  return {
    name,
    server_url: address(config),
    auth_url: state.status === "authenticating" ? (state.authUrl ?? null) : null,
    state: state.status,
    capabilities: (session?.capabilities as Record<string, unknown> | undefined) ?? null,
    instructions: session?.instructions ?? null,
    transport: session?.transport ?? config.kind,
    era: session?.era ?? null,
    protocolVersion: session?.protocolVersion ?? null,
    serverInfo: session?.serverInfo
      ? { name: session.serverInfo.name, version: session.serverInfo.version }
      : null,
    toolCount: catalog.toolCount(name),
    error: error ? { code: error.code, message: error.message } : null,
    ...pending(state),
  };
}

const pending = (state: ConnectionState): { attempt: number | null; retryAt: number | null } =>
  state.status === "reconnecting"
    ? { attempt: state.attempt, retryAt: state.retryAt }
    : { attempt: null, retryAt: null };

function address(config: ServerConnection["config"]): string {
  if ("url" in config) {
    const { origin, host, protocol, pathname } = new URL(config.url);
    return `${origin === "null" ? `${protocol}//${host}` : origin}${pathname}`;
  }
  if ("command" in config) return [config.command, ...config.args].join(" ");
  return "image" in config ? config.image : "custom";
}
