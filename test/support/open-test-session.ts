/** Opens a session without a port, for tests of the protocol layer. */

import { CLIENT_INFO } from "../../packages/base/src/util/version.js";
import { parseServerEntry } from "../../packages/core/src/config/parse-servers.js";
import type { ServerEntry } from "../../packages/core/src/config/server-entry.js";
import { openSession } from "../../packages/core/src/protocol/open-session.js";
import type { ServerRequestOptions } from "../../packages/core/src/protocol/server-requests/server-request-options.js";
import {
  createServerRequests,
  type ServerRequests,
} from "../../packages/core/src/protocol/server-requests/server-requests.js";
import type { Session } from "../../packages/core/src/protocol/session.js";
import { createHttpClient } from "../../packages/core/src/transports/create-transport.js";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../../packages/core/src/transports/server-transport.js";

export interface OpenTestSession extends AsyncDisposable {
  readonly session: Session;
  readonly serverRequests: ServerRequests;
  /** Reports, in order. */
  readonly reports: unknown[];
  /** Every message on the wire. */
  readonly wire: { readonly direction: "sent" | "received"; readonly message: Record<string, unknown> }[];
  /** `tools/call` with short limits. */
  call(tool: string, options?: CallOptions): Promise<Record<string, unknown>>;
}

export interface CallOptions {
  args?: Record<string, unknown>;
  timeoutMs?: number;
  maxTimeoutMs?: number;
  signal?: AbortSignal;
  onProgress?: (progress: { progress: number }) => void;
}

/** The server is called `test`. */
export async function openTestSession(
  entry: ServerEntry,
  options: ServerRequestOptions = {},
): Promise<OpenTestSession> {
  const reports: unknown[] = [];
  const wire: { direction: "sent" | "received"; message: Record<string, unknown> }[] = [];
  const serverRequests = createServerRequests({ ...options, report: (error) => reports.push(error) });
  const http = await createHttpClient();
  const discarded: Promise<void>[] = [];
  const { session } = await openSession({
    config: parseServerEntry("test", entry),
    context: { http, maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES },
    identity: { clientInfo: CLIENT_INFO, capabilities: { ...serverRequests.capabilities } },
    serverRequests,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    tap: (direction, message) => wire.push({ direction, message: message as Record<string, unknown> }),
    onDiscarded: (closing) => discarded.push(closing),
  });
  return {
    session,
    serverRequests,
    reports,
    wire,
    call: (tool, { args = {}, timeoutMs = 5_000, maxTimeoutMs = 10_000, ...rest } = {}) =>
      session.request("tools/call", { name: tool, arguments: args }, { timeoutMs, maxTimeoutMs, ...rest }),
    async [Symbol.asyncDispose]() {
      await session.close();
      await Promise.all(discarded);
      await http.close();
    },
  };
}
