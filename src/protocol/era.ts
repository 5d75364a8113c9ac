/** The two generations of the protocol: stateless (2026-07-28) and everything before it. */

export type Era = "legacy" | "modern";

/** Revisions without `initialize`, newest first. */
export const MODERN_VERSIONS = ["2026-07-28"] as const;

/** Revisions with an `initialize` handshake, newest first. */
export const LEGACY_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
] as const;

/** Revisions are dates, so their order is that of the text. */
export const isModernVersion = (version: string): boolean =>
  version >= MODERN_VERSIONS[MODERN_VERSIONS.length - 1]!;

/** Keys of the envelope that every request of the modern era carries in `_meta`. */
const ENVELOPE = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
} as const;

/** Where a modern server says who it is. */
export const SERVER_INFO_META_KEY = "io.modelcontextprotocol/serverInfo";

/** Servers may answer `tools/call` with a task, if this is told with the request. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export interface ClientIdentity {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/**
 * The `_meta` envelope of one connection; made once, it is the same for every request. Tasks are told here and not in
 * the handshake: the SDK's client, which a program may use beside us, cannot take them.
 */
export function createEnvelope(
  version: string,
  { clientInfo, capabilities }: ClientIdentity,
): Record<string, unknown> {
  return {
    [ENVELOPE.protocolVersion]: version,
    [ENVELOPE.clientInfo]: clientInfo,
    [ENVELOPE.clientCapabilities]: {
      ...capabilities,
      extensions: { ...(capabilities["extensions"] as object | undefined), [TASKS_EXTENSION]: {} },
    },
  };
}

/**
 * Only if the server says so: without the field an answer is private.
 *
 * @param result an answer of a server that speaks 2026-07-28: earlier revisions do not have the field
 */
export const isPublic = (result: Readonly<Record<string, unknown>>): boolean =>
  result["cacheScope"] === "public";
