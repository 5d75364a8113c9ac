/** Who sends a request: the user, the era, and what the client can do. */
import { canonicalJson } from "../catalog/safety/canonical-json.js";
import { isLogLevel, type LogLevel } from "../model/log-levels.js";
import type { Era } from "../protocol/era.js";
import type { SessionHooks } from "../protocol/session-hooks.js";
import { type Fields, isRecord } from "../util/json.js";
import type { ClientResponse, Envelope } from "./message.js";

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

/** The client of a modern request. */
export const modernClient = (
  { version, capabilities, logLevel }: Envelope,
  user: Pick<GatewayClient, "principal" | "scopes" | "expiresAt">,
): GatewayClient => ({
  principal: user.principal,
  scopes: user.scopes,
  expiresAt: user.expiresAt,
  era: "modern",
  version,
  capabilities,
  capabilityKey: capabilityKeyOf(capabilities),
  logLevel: isLogLevel(logLevel) ? logLevel : undefined,
  session: undefined,
});

/** The client of a legacy request. */
export const legacyClient = (
  { principal, scopes }: Pick<GatewayClient, "principal" | "scopes">,
  facts: Pick<GatewayClient, "version" | "capabilities" | "capabilityKey"> &
    Partial<Pick<GatewayClient, "session" | "logLevel">>,
): GatewayClient => {
  const { version, capabilities, capabilityKey, session, logLevel } = facts;
  return { principal, scopes, era: "legacy", version, capabilities, capabilityKey, session, logLevel };
};
