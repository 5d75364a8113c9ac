/** The JSON-RPC messages that clients send, and their clients: the user, the era, and what the client can do. */

import {
  canonicalJson,
  countContainers,
  type Fields,
  isLogLevel,
  isRecord,
  type LogLevel,
} from "@toolport/base";
import { isModernVersion, type SessionHooks, versionsOf } from "@toolport/core/internal";
import { type Era, Fault, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from "./faults.js";

export type RequestId = string | number;

export interface ClientRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Fields;
}

export type ClientNotification = Omit<ClientRequest, "id">;

/** The answer of a client to a request of a server. */
export interface ClientResponse {
  readonly id: RequestId;
  readonly result?: Fields | undefined;
  readonly error?: unknown;
}

export type ClientMessage =
  | { readonly kind: "request"; readonly request: ClientRequest }
  | { readonly kind: "notification"; readonly notification: ClientNotification }
  | { readonly kind: "response"; readonly response: ClientResponse };

/** Real messages have about a dozen levels. So many objects or arrays are parsed in about 20 ms, in which no other user is served. */
const LIMITS = { levels: 500, containers: 100_000 };
/** Revision 2025-03-26 allows batches; no client needs many. */
const MAX_BATCH = 100;

const isId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value));

/** An object or an array takes as much time as so many characters more. */
const CONTAINER_WEIGHT = 16;

/** How much work a text is, in characters. Throws if it is too much, before it is parsed. */
export function weigh(text: string): number {
  const counted = countContainers(text, LIMITS);
  if (counted === "levels") throw invalid(`The message is nested deeper than ${LIMITS.levels} levels`);
  if (counted === "containers")
    throw invalid(`The message has more than ${LIMITS.containers} objects and arrays`);
  return text.length + CONTAINER_WEIGHT * counted;
}

/** Reads the body of a request or a line of text, after `weigh`. An array is a batch, even with one message. */
export function readMessages(text: string): { messages: readonly ClientMessage[]; isBatch: boolean } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Fault(PARSE_ERROR, "Parse error: the body is not JSON", { status: 400 });
  }
  if (!Array.isArray(parsed)) return { messages: [readMessage(parsed)], isBatch: false };
  if (parsed.length === 0 || parsed.length > MAX_BATCH)
    throw invalid(`A batch needs 1 to ${MAX_BATCH} messages`);
  return { messages: parsed.map(readMessage), isBatch: true };
}

/** Reads one parsed message. */
export function readMessage(value: unknown): ClientMessage {
  if (!isRecord(value) || value["jsonrpc"] !== "2.0") throw invalid("The body is not a JSON-RPC 2.0 message");
  const { id, method, params, result, error } = value;
  if (method === undefined) {
    if (!isId(id) || (result === undefined && error === undefined))
      throw invalid("The message is neither a request nor a notification nor a response");
    return { kind: "response", response: { id, result: isRecord(result) ? result : undefined, error } };
  }
  if (typeof method !== "string") throw invalid("The method is not text");
  if (params !== undefined && !isRecord(params))
    throw new Fault(INVALID_PARAMS, "The parameters are not an object", { status: 400 });
  const given = params ?? {};
  if (id === undefined) return { kind: "notification", notification: { method, params: given } };
  if (!isId(id)) throw invalid("The id is neither text nor a number");
  return { kind: "request", request: { id, method, params: given } };
}

const invalid = (message: string): Fault =>
  new Fault(INVALID_REQUEST, `Invalid request: ${message}`, { status: 400 });

/** Keys of `_meta` that belong to one connection and are never passed on. */
export const RESERVED_META = "io.modelcontextprotocol/";
export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscription: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
} as const;

export const metaOf = (params: Fields): Fields | undefined => {
  const meta = params["_meta"];
  return isRecord(meta) ? meta : undefined;
};

/**
 * The client of a modern request; undefined for a legacy request. The body decides; the header of the version only confirms it.
 *
 * @param header `MCP-Protocol-Version`, if the message came by HTTP
 * @param isHttp whether the header is required
 */
export function readModernClient(
  { method, params }: Pick<ClientRequest, "method" | "params">,
  { principal, scopes, expiresAt }: ClientUser,
  { header, isHttp = false }: { readonly header?: string | undefined; readonly isHttp?: boolean } = {},
): GatewayClient | undefined {
  const meta = metaOf(params);
  if (method === "initialize" && !isModernClaim(meta)) {
    if (header !== undefined && isModernVersion(header))
      throw mismatch("an initialize request with a modern MCP-Protocol-Version header");
    return undefined;
  }
  if (meta === undefined || !(META.version in meta)) {
    if (header === undefined || !isModernVersion(header)) return undefined;
    throw envelopeFault(meta === undefined ? "_meta is missing" : `${META.version} is missing`);
  }
  const { [META.version]: version, [META.capabilities]: capabilities, [META.clientInfo]: clientInfo } = meta;
  if (typeof version !== "string") throw envelopeFault(`${META.version} is not text`);
  if (!isRecord(capabilities)) throw envelopeFault(`${META.capabilities} is missing or not an object`);
  if (clientInfo !== undefined && !isRecord(clientInfo))
    throw envelopeFault(`${META.clientInfo} is not an object`);
  if (header !== undefined && header !== version)
    throw mismatch(`the body names version ${version}, the MCP-Protocol-Version header ${header}`);
  if (!versionsOf("modern").includes(version)) throw unsupportedVersion(version);
  if (isHttp && header === undefined) throw mismatch("the MCP-Protocol-Version header is missing");
  const level = meta[META.logLevel];
  return {
    principal,
    scopes,
    expiresAt,
    era: "modern",
    version,
    capabilities,
    capabilityKey: capabilityKeyOf(capabilities),
    logLevel: level !== undefined && isLogLevel(level) ? level : undefined,
    session: undefined,
  };
}

/** Throws if a request of a batch is not of a legacy revision. */
export function checkBatch(requests: readonly ClientRequest[], user: ClientUser): void {
  if (requests.some((request) => readModernClient(request, user) !== undefined))
    throw new Fault(INVALID_REQUEST, "A batch must not contain requests of revision 2026-07-28", {
      status: 400,
    });
}

const UNSUPPORTED_VERSION = -32022;

export const unsupportedVersion = (requested: unknown): Fault =>
  new Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", {
    data: { supported: versionsOf("modern"), ...(requested !== undefined && { requested }) },
    status: 400,
  });

const isModernClaim = (meta: Fields | undefined): boolean => {
  const version = meta?.[META.version];
  return typeof version === "string" && isModernVersion(version) && isRecord(meta?.[META.capabilities]);
};

function envelopeFault(problem: string): Fault {
  const message = `Invalid params: the envelope of protocol revision ${versionsOf("modern")[0]} is not valid: ${problem}`;
  return new Fault(INVALID_PARAMS, message, { data: { envelope: problem }, status: 400 });
}

export const mismatch = (problem: string): Fault =>
  new Fault(HEADER_MISMATCH, `Bad Request: the request headers and body disagree: ${problem}`, {
    status: 400,
  });

/** The version that a legacy client gets: the requested one, or the newest legacy version. */
export const negotiateLegacy = (requested: unknown): string =>
  isLegacyVersion(requested) ? (requested as string) : versionsOf("legacy")[0]!;

/** Revision 2025-03-26 is the last one without a header for the version. */
export const UNNAMED_LEGACY_VERSION = "2025-03-26";

export const isLegacyVersion = (version: unknown): boolean =>
  (versionsOf("legacy") as readonly unknown[]).includes(version);

/** Key in `_meta` of requests, and of the entries of lists. */
export const HOPS_META_KEY = "toolport/hops";
export const MAX_HOPS = 4;

/** The number of gateways after this one. */
export function nextHop(params: Fields): number {
  const given = metaOf(params)?.[HOPS_META_KEY];
  return typeof given === "number" && given > 0 ? Math.floor(given) + 1 : 1;
}

/** An entry of a list with its hops. Undefined if a request for it would pass too many gateways. */
export function withHops(item: Fields): Fields | undefined {
  if (nextHop(item) > MAX_HOPS) return undefined;
  return { ...item, _meta: { ...metaOf(item), [HOPS_META_KEY]: nextHop(item) } };
}

/** A client as the gateway knows it during one request. */
export interface GatewayClient {
  /** The user; undefined if the gateway runs for a single user. */
  readonly principal: string | undefined;
  readonly scopes: readonly string[];
  readonly era: Era;
  readonly version: string;
  /** What the client declared. Nothing else is ever declared to servers. */
  readonly capabilities: Fields;
  /** Canonical JSON of the capabilities; "" if there are none. */
  readonly capabilityKey: string;
  /** Minimum level of log messages. @default none */
  readonly logLevel: LogLevel | undefined;
  /** When the credential of the client ends (epoch milliseconds). Streams end then. */
  readonly expiresAt?: number | undefined;
  /** Key of the legacy session; undefined for modern clients and for legacy clients without a session. */
  readonly session: string | undefined;
}

/** Whose request it is. */
export type ClientUser = Pick<GatewayClient, "principal" | "scopes" | "expiresAt">;

/** Asks the client. */
export type AskClient = SessionHooks["answer"];

/** The way back to the client for one request. */
export interface Exchange {
  /** Aborts when the client is gone or has cancelled the request. */
  readonly signal: AbortSignal;
  /** A header of the request; undefined unless the request came by HTTP. */
  readonly header: ((name: string) => string | undefined) | undefined;
  /** Sends a notification before the answer. Dropped if the client cannot receive any. */
  notify(text: string): void;
  /** Sends a request to a legacy client and waits for its answer. Undefined if the client cannot be asked. */
  readonly ask:
    | ((method: string, params: Fields | undefined, signal: AbortSignal) => Promise<ClientResponse>)
    | undefined;
  /** Keeps the response open for notifications until the returned stream ends. Undefined if there is no such stream. */
  readonly hold: (() => OpenStream) | undefined;
}

/** A response that stays open. */
export interface OpenStream {
  send(text: string): void;
  /** Resolves when the client is gone, or the gateway ends the stream. */
  readonly closed: Promise<void>;
}

/** Capabilities that concern requests of servers. */
const ASKED = ["elicitation", "sampling", "roots"] as const;

/** Whether the client reports changes of its roots. */
export const reportsRoots = ({ roots }: Fields): boolean => isRecord(roots) && roots["listChanged"] === true;

/** What a client without a stream can still do: nothing that a server would ask for. */
export function withoutQuestions(capabilities: Fields): Fields {
  const { elicitation: _, sampling: __, roots: ___, ...rest } = capabilities;
  return rest;
}

/** Only what servers may ask for. */
export const onlyQuestions = (capabilities: Fields): Fields =>
  Object.fromEntries(
    ASKED.flatMap((name) => (capabilities[name] === undefined ? [] : [[name, capabilities[name]]])),
  );

/** The same key for equal capabilities, whatever the order of their fields. Legacy servers learn only what they may ask for. */
export function capabilityKeyOf(capabilities: Fields): string {
  for (const name of ASKED) if (capabilities[name] !== undefined) return canonicalJson(capabilities);
  return "";
}

/** The client of a legacy request. */
export const legacyClient = (
  { principal, scopes }: ClientUser,
  facts: Pick<GatewayClient, "version" | "capabilities" | "capabilityKey"> &
    Partial<Pick<GatewayClient, "session" | "logLevel">>,
): GatewayClient => ({ principal, scopes, era: "legacy", session: undefined, logLevel: undefined, ...facts });

/** What a legacy client says with its first request. */
export function readHandshake({ protocolVersion, capabilities: declared }: Fields) {
  const capabilities = isRecord(declared) ? declared : {};
  return {
    version: negotiateLegacy(protocolVersion),
    capabilities,
    capabilityKey: capabilityKeyOf(capabilities),
  };
}
