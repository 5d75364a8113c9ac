/** Passes what servers tell by themselves to the functions of a client's configuration. */
import type { LoggingLevel, RequestId } from "@modelcontextprotocol/client";
import type { ServerNotification } from "../../events.js";
import type { Toolport } from "../../toolport.js";
import { callSafely } from "../../util/call-safely.js";
import type { ClientConfig } from "./client-config.js";
import type { Notifications, ServerMessageSource } from "./hooks.js";

type ListHook = "onToolsListChanged" | "onResourcesListChanged" | "onPromptsListChanged";

const LISTS: Readonly<Record<string, ListHook>> = {
  "notifications/tools/list_changed": "onToolsListChanged",
  "notifications/resources/list_changed": "onResourcesListChanged",
  "notifications/prompts/list_changed": "onPromptsListChanged",
};

/** The catalog gathers changes for this long before it reads again; what is read sooner was asked for earlier. */
const SOONEST_MS = 45;

/** Listens until the port is closed. What the functions throw goes to `report`. */
export function passNotifications(
  toolport: Toolport,
  config: ClientConfig,
  report: (error: unknown) => void,
): void {
  const hooks: Notifications = config;
  const changed = new Map<string, { server: string; hook: ListHook; at: number }>();

  const call = (server: string, run: (source: ServerMessageSource) => unknown) => {
    const options = config.mcpServers[server];
    if (options !== undefined) callSafely(() => run({ server, options }), report);
  };

  toolport.on("state", ({ server, to }) => {
    if (to === "connected") call(server, (source) => hooks.onInitialized?.(source));
  });
  toolport.on("notification", (notification) => {
    const { server, principal, method } = notification;
    const hook = LISTS[method];
    // Told when the lists have been read again, so that `getTools()` in the hook finds the new ones.
    if (hook !== undefined) {
      changed.set(`${hook} ${server} ${principal}`, { server, hook, at: performance.now() });
    } else call(server, (source) => passOther(hooks, notification, source));
  });
  toolport.on("tools", ({ server, principal }) => {
    for (const hook of Object.values(LISTS)) {
      const key = `${hook} ${server} ${principal}`;
      const change = changed.get(key);
      if (change === undefined || performance.now() - change.at < SOONEST_MS) continue;
      changed.delete(key);
      call(server, (source) => hooks[hook]?.(source));
    }
  });
}

function passOther(
  hooks: Notifications,
  { method, params }: ServerNotification,
  source: ServerMessageSource,
): unknown {
  switch (method) {
    case "notifications/message": {
      const { level, logger, data } = params as { level: LoggingLevel; logger?: string; data?: unknown };
      return hooks.onMessage?.({ level, logger, data }, source);
    }
    case "notifications/cancelled": {
      const { requestId, reason } = params as { requestId?: RequestId; reason?: string };
      return requestId === undefined ? undefined : hooks.onCancelled?.({ requestId, reason }, source);
    }
    case "notifications/resources/updated":
      return hooks.onResourcesUpdated?.({ ...params, uri: String(params["uri"]) }, source);
    case "notifications/roots/list_changed":
      return hooks.onRootsListChanged?.(source);
    default:
      return undefined;
  }
}
