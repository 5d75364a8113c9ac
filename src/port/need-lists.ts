/** How long a caller waits for lists: briefly for those that are known already, longer for the first list of a server. */
import type { ListKey } from "../protocol/change-watch.js";
import { withDeadline } from "../util/timers.js";
import type { ListedPort } from "./list-reader.js";
import { LATE, type NeededLists } from "./needed-lists.js";

type NeedingPort = ListedPort & { readonly needs: NeededLists };

/** Options of `port.need`. */
export interface NeedOptions {
  /** Names of the servers. @default all */
  readonly servers?: readonly string[] | undefined;
  /** How long to wait for servers that are not connected, or whose old lists can be used. @default 1000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const LIMIT_MS = 1_000;
/** Limit for the first list of a server that has not failed yet: a program may take seconds to start, and many callers ask once. */
const FIRST_LIST_MS = 10_000;

/** Makes a list of these servers known. Rejects only if the port is closed or the signal aborts. */
export async function needLists(
  port: NeedingPort,
  key: ListKey,
  { servers, limitMs = LIMIT_MS, signal }: NeedOptions,
): Promise<void> {
  await port.opened();
  signal?.throwIfAborted();
  const { catalog, needs, pool } = port;
  for (const name of servers ?? []) if (pool.configOf(name) === undefined) pool.require(name);
  const pending = (servers ?? pool.names).flatMap((server) => {
    const providing = needs.provide(server, key);
    if (providing === undefined) return [];
    const timeoutMs = isFirst(port, server, key) ? Math.max(limitMs, FIRST_LIST_MS) : limitMs;
    return [within(port, { server, key, providing }, { limitMs, timeoutMs, signal })];
  });
  if (key === "tools") pending.push(catalog.checkDuePins());
  if (pending.length > 0) await Promise.all(pending);
}

/** The server connects for the first time, or is connected, and no request has waited in vain for it. */
function isFirst({ catalog, needs, pool }: NeedingPort, server: string, key: ListKey): boolean {
  if (catalog.knows(server, key) || needs.late?.has(server) || needs.failedAt?.has(server)) return false;
  const status = pool.peek(server)?.state.status;
  return status !== "failed" && status !== "reconnecting" && status !== "authenticating";
}

/** Resolves with the read, or after the limit; a list that arrives later is reported. */
async function within(
  { needs }: NeedingPort,
  { server, key, providing }: { server: string; key: ListKey; providing: Promise<boolean> },
  { limitMs, timeoutMs, signal }: { limitMs: number; timeoutMs: number; signal: AbortSignal | undefined },
): Promise<void> {
  const onTimeout = () => LATE;
  try {
    await withDeadline(providing, { timeoutMs: limitMs, signal, onTimeout }).catch(async (error) => {
      if (error !== LATE || limitMs >= timeoutMs) throw error;
      if (await needs.restore(server, key).catch(() => false)) throw error;
      await withDeadline(providing, { timeoutMs: timeoutMs - limitMs, signal, onTimeout });
    });
  } catch (error) {
    if (error !== LATE) throw error;
    needs.late ??= new Set();
    needs.late.add(server);
    void providing.then((isRead) => {
      needs.late?.delete(server);
      if (isRead) needs.arrived(server, key);
    });
  }
}
