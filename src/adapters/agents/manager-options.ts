/** What a {@link McpClientManager} takes and gives. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import type { ToolportOptions } from "../../port/options.js";
import type { TransportOptions } from "./to-server-entry.js";

/** What belongs to the manager: names of tools begin with the id of their server, and servers are added one by one. */
type ManagersOwn =
  | "mcpServers"
  | "prefix"
  | "additionalToolNamePrefix"
  | "toolNameMapper"
  | "deferTools"
  | "catalog"
  | "callbackUrl"
  | "onServerError"
  | "requiredTools";

/** Options of {@link McpClientManager}: those of `createToolport` that make sense for an agent, and its own. */
export interface McpClientManagerOptions extends Omit<ToolportOptions, ManagersOwn> {
  /**
   * What happens to servers that were saved in `store`: connected at once, known at once and connected when one of
   * their tools is called, or left alone.
   * @default "connect"
   */
  restore?: "connect" | "lazy" | false;
  /**
   * Whose servers and logins these are, where several agents share a store.
   * @default nobody's: who shares the store shares the servers
   */
  principal?: string;
}

/** What {@link McpClientManager.addServer} takes besides name and address. */
export interface AddServerOptions {
  /** Where a browser comes back to after a login. @default none: servers that want a login fail */
  callbackUrl?: string | undefined;
  client?: ClientOptions | undefined;
  transport?: TransportOptions | undefined;
}

/** What `addMcpServer()` returns: the server is ready, or somebody has to log in first. */
export type AddMcpServerResult =
  | { id: string; state: "authenticating"; authUrl: string }
  | { id: string; state: "ready"; authUrl?: undefined };
