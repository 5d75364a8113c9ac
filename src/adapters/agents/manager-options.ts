/** Options and results of {@link McpClientManager}. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import type { ToolportOptions } from "../../port/options.js";
import type { ForModelOption } from "../for-model.js";
import type { TransportOptions } from "./to-server-entry.js";

/** Options that the manager sets itself: tool names begin with the id of their server, and servers are added one by one. */
type ManagersOwn =
  | "mcpServers"
  | "prefix"
  | "additionalToolNamePrefix"
  | "toolNameMapper"
  | "catalog"
  | "callbackUrl"
  | "onServerError"
  | "requiredTools";

/** Options of {@link McpClientManager}: those of `createToolport` that make sense for an agent, and its own. */
export interface McpClientManagerOptions extends Omit<ToolportOptions, ManagersOwn> {
  /**
   * What happens to servers that were saved in `store`: connected at once, connected when one of
   * their tools is called, or ignored.
   * @default "connect"
   */
  restore?: "connect" | "lazy" | false;
  /**
   * The owner of these servers and logins, if several agents share a store.
   * @default none: agents that share the store share the servers
   */
  principal?: string;
  /**
   * Limits the text of a result that the model gets from a tool of `getAITools()`. With it, the tool `read_artifact` is offered beside the
   * others. See docs/calls.md#results-for-models.
   * @default false: models get every result whole
   * @example
   * ```ts
   * new McpClientManager({ forModel: { bytes: 100_000 }, deferTools: { mode: "auto" } });
   * ```
   */
  forModel?: ForModelOption;
}

/** Options of {@link McpClientManager.addServer}. */
export interface AddServerOptions {
  /** The URL to which the browser returns after a login. @default none: servers that need a login fail */
  callbackUrl?: string | undefined;
  client?: ClientOptions | undefined;
  transport?: TransportOptions | undefined;
}

/** The result of `addMcpServer()`: the server is ready, or the user has to log in first. */
export type AddMcpServerResult =
  | { id: string; state: "authenticating"; authUrl: string }
  | { id: string; state: "ready"; authUrl?: undefined };
