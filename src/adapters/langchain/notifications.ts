/** Passes notifications from servers to the callbacks in a client's configuration. */
import type { LoggingLevel, RequestId } from "@modelcontextprotocol/client";
import type { ServerNotification } from "../../port/events.js";
import type { Toolport } from "../../toolport.js";
import { callSafely } from "../../util/callbacks.js";
import type { ClientConfig, Notifications, ServerMessageSource } from "./client-config.js";

const LIST_HOOKS = {
  tools: "onToolsListChanged",
  resources: "onResourcesListChanged",
  prompts: "onPromptsListChanged",
} as const;

/** Listens until the port is closed. Errors of the callbacks are passed to `report`. */
export function passNotifications(
  toolport: Toolport,
  config: ClientConfig,
  report: (error: unknown) => void,
): void {
  const hooks: Notifications = config;

  // The promise is returned to the port, which limits how many calls of a slow hook run and wait.
  const call = (server: string, run: (source: ServerMessageSource) => unknown) => {
    const options = config.mcpServers[server];
    return options && callSafely(() => run({ server, options }), report);
  };

  toolport.on("state", ({ server, to }) =>
    to === "connected" ? call(server, (source) => hooks.onInitialized?.(source)) : undefined,
  );
  toolport.on("notification", (notification) =>
    call(notification.server, (source) => passOther(hooks, notification, source)),
  );
  // Called after the lists were read again, so that `getTools()` in the hook returns the new tools.
  for (const list of ["tools", "resources", "prompts"] as const)
    toolport.on("listsChanged", ({ server, lists }) =>
      lists.includes(list) ? call(server, (source) => hooks[LIST_HOOKS[list]]?.(source, source)) : undefined,
    );
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
      return hooks.onRootsListChanged?.(source, source);
    default:
      return undefined;
  }
}
