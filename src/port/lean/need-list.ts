/** Makes a list of some servers known, within a time limit. */
import type { ListKey } from "../../catalog/server-lists.js";
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import { withDeadline } from "../../util/with-deadline.js";

/** Options of `port.need`. */
export interface NeedOptions {
  /** Names of the servers. @default all */
  readonly servers?: readonly string[] | undefined;
  /** How long to wait for servers that are not connected yet. @default 1000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface NeedHost {
  opened(): Promise<void> | undefined;
  choose(names: readonly string[] | undefined): ServerConnection[];
  bringUp(connections: readonly ServerConnection[], wait: WaitOptions): Promise<unknown>;
}

const LIMIT_MS = 1_000;

/** Rejects only if the port is closed or the signal aborts. */
export async function needList(port: NeedHost, _list: ListKey, options: NeedOptions = {}): Promise<void> {
  const { servers, limitMs = LIMIT_MS, signal } = options;
  await port.opened();
  signal?.throwIfAborted();
  const reading = port.bringUp(port.choose(servers), {}).catch(() => {});
  const onTimeout = () => new Error("Late");
  await withDeadline(reading, { timeoutMs: limitMs, signal, onTimeout }).catch(() =>
    signal?.throwIfAborted(),
  );
}
