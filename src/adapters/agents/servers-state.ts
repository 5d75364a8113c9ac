/** The state of all servers in the shape of Cloudflare's agents. */
import type {
  Prompt,
  Resource,
  ResourceTemplateType as ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "@modelcontextprotocol/client";
import type { ServerSnapshot, ToolportSnapshot } from "../../port/snapshot.js";

/**
 * The state of a connection, in the order in which it connects; `authenticating` only if the user has to log in
 * first.
 */
export type MCPConnectionState =
  | "authenticating"
  | "connecting"
  | "connected"
  | "discovering"
  | "ready"
  | "failed";

/** How `connectToServer()` ended. */
export type MCPConnectionResult =
  | { state: "failed"; error: string }
  | { state: "authenticating"; authUrl: string }
  | { state: "connected" };

/** How `discoverIfConnected()` ended. */
export type MCPDiscoverResult = {
  success: boolean;
  state: MCPConnectionState;
  error?: string;
};

/** What `getMcpServers()` returns. */
export interface MCPServersState {
  /** By the id that `addMcpServer()` returned. */
  servers: Record<
    string,
    {
      name: string;
      /** Without its query, which may contain a key. */
      server_url: string;
      auth_url: string | null;
      state: MCPConnectionState;
      capabilities: ServerCapabilities | null;
      instructions: string | null;
    }
  >;
  /** With their names on the servers. */
  tools: Array<Tool & { serverId: string }>;
  prompts: Array<Prompt & { serverId: string }>;
  resources: Array<Resource & { serverId: string }>;
  resourceTemplates: Array<ResourceTemplate & { serverId: string }>;
}

export function toConnectionState(status: ServerSnapshot["state"]): MCPConnectionState {
  if (status === "idle" || status === "reconnecting") return "connecting";
  return status === "closed" ? "failed" : status;
}

/** Calls can be made now, or as soon as the server has reconnected. */
export const isOffered = ({ servers }: ToolportSnapshot, server: string): boolean => {
  const status = servers[server]?.state;
  return status !== undefined && !["authenticating", "failed", "closed"].includes(status);
};

/** @param nameOf the name to show for an id */
export function toServersState(snapshot: ToolportSnapshot, nameOf: (id: string) => string): MCPServersState {
  const { servers, tools, prompts, resources, resourceTemplates } = snapshot;
  return {
    servers: Object.fromEntries(
      Object.entries(servers).map(([id, server]) => [id, serverState(server, nameOf(id))]),
    ),
    tools: offered(snapshot, tools).map(
      ({ sourceName, ...tool }) => ({ ...tool, name: sourceName }) as never,
    ),
    prompts: offered(snapshot, prompts) as never,
    resources: offered(snapshot, resources) as never,
    resourceTemplates: offered(snapshot, resourceTemplates) as never,
  };
}

/** Lists of servers that are down are left out: they may be out of date. */
function offered<Info extends { server: string; serverId: string }>(
  snapshot: ToolportSnapshot,
  infos: readonly Info[],
): Omit<Info, "server">[] {
  return infos.filter(({ serverId }) => isOffered(snapshot, serverId)).map(({ server: _, ...info }) => info);
}

function serverState(server: ServerSnapshot, name: string): MCPServersState["servers"][string] {
  const { server_url, auth_url, state, capabilities, instructions } = server;
  return { name, server_url, auth_url, state: toConnectionState(state), capabilities, instructions };
}
