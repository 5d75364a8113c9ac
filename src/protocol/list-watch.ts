/** Change notifications in both eras: unsolicited on the legacy wire, by a subscription on the modern one. */
import type { Client } from "@modelcontextprotocol/client";
import { backoffMs } from "../util/backoff.js";
import { pause } from "../util/sleep.js";

/** The lists a server can change. */
export type ListName = "tools" | "resources" | "prompts";

const NOTIFICATIONS = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
} as const;

const METHOD_NOT_FOUND = -32601;

const LISTS = Object.keys(NOTIFICATIONS) as ListName[];

export interface ListWatch {
  on(listener: (list: ListName) => void): () => void;
  /** Modern era: opens the subscription and opens it again whenever the server drops it. Never throws. */
  keepListening(): void;
  close(): void;
}

/** Must be made before the client connects, so that no notification is missed. */
export function createListWatch(client: Client): ListWatch {
  const listeners = new Set<(list: ListName) => void>();
  const ended = new AbortController();

  const tell = (list: ListName) => {
    for (const listener of [...listeners]) listener(list);
  };

  for (const list of LISTS) {
    client.setNotificationHandler(NOTIFICATIONS[list], () => tell(list));
  }

  const filter = () => {
    const capabilities = client.getServerCapabilities();
    return {
      ...(capabilities?.tools?.listChanged && { toolsListChanged: true as const }),
      ...(capabilities?.resources?.listChanged && { resourcesListChanged: true as const }),
      ...(capabilities?.prompts?.listChanged && { promptsListChanged: true as const }),
    };
  };

  async function listen(): Promise<void> {
    const wanted = filter();
    if (Object.keys(wanted).length === 0) return;
    let opened = false;
    for (let attempt = 1; !ended.signal.aborted; attempt += 1) {
      await pause(backoffMs(attempt), ended.signal);
      try {
        const subscription = await client.listen(wanted, { signal: ended.signal, timeout: 15_000 });
        const openedAt = performance.now();
        // What was missed while nobody listened is unknown, so every watched list counts as changed. Not before
        // somebody listens again: a change after the reading and before that would be missed for good.
        if (opened) for (const list of LISTS) if (wanted[`${list}ListChanged`]) tell(list);
        opened = true;
        if ((await subscription.closed) === "local") return;
        if (performance.now() - openedAt > 30_000) attempt = 0;
      } catch (error) {
        // A server that does not know the method will not learn it. Anything else may be different next time: the
        // connection is usable without it, and the next attempt waits longer.
        if ((error as { code?: unknown } | undefined)?.code === METHOD_NOT_FOUND) return;
      }
    }
  }

  return {
    on(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    keepListening() {
      if (client.getProtocolEra() === "modern") listen().catch(() => {});
    },
    close() {
      ended.abort();
      listeners.clear();
    },
  };
}
