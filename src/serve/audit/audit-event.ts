/** One line of an audit log, and what the gateway says about a request to write it. */

import type { Seal } from "../replicas/seal.js";

/** How a request ended. `refused`: by a policy or a person. `waiting`: the client has to answer something first. */
export type AuditOutcome = "ok" | "error" | "refused" | "waiting";

/** A request, as the gateway reports it. */
export interface AuditEntry {
  readonly principal?: string | undefined;
  /** The method of the client's request. */
  readonly method: string;
  readonly server?: string | undefined;
  /** The name of the tool, the prompt or the resource at its server. */
  readonly tool?: string | undefined;
  /** The tool as its server listed it. Must not be changed later: its hash is kept. */
  readonly definition?: Readonly<Record<string, unknown>> | undefined;
  readonly args?: Readonly<Record<string, unknown>> | undefined;
  readonly outcome: AuditOutcome;
  /** Code of the error, of JSON-RPC or of Toolport. */
  readonly code?: string | number | undefined;
  readonly durationMs: number;
}

/** One line of the log. `JSON.stringify(event)` is the line. */
export interface AuditEvent {
  /** One for every replica and start. */
  readonly chain: string;
  /** Counts the lines of the chain from 0. */
  readonly seq: number;
  /** ISO 8601. */
  readonly time: string;
  /** `start` opens a chain, `end` closes it, `lost` counts requests that a broken disk did not take. */
  readonly event: "start" | "request" | "lost" | "end";
  /** In `start`: the hash of the line before it in the file. */
  readonly after?: string;
  /** In `lost`: how many. */
  readonly count?: number;
  readonly principal?: string;
  readonly method?: string;
  readonly server?: string;
  readonly tool?: string;
  /** SHA-256 of the tool's definition, the same that pins use. */
  readonly definitionHash?: string;
  /** HMAC of the arguments as canonical JSON, or of the SHA-256 of large ones, with the key of the gateway. */
  readonly argumentHash?: string;
  /** With `includeArguments`, unless they are large. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Large arguments, as JSON: its first 4,096 characters, its length in characters, and its SHA-256 in hex. */
  readonly cutArgs?: { readonly start: string; readonly length: number; readonly sha256: string };
  readonly outcome?: AuditOutcome;
  readonly code?: string | number;
  readonly durationMs?: number;
  /** `mac` of the line before it in its chain; empty in the first. */
  readonly prev: string;
  /** HMAC of the line without this field. */
  readonly mac: string;
}

/** A keyed hash under a key of the gateway. */
export type AuditMac = Seal["mac"];

/** Purposes of the keyed hashes. */
export const LINE_PURPOSE = "audit/line";
export const ARGUMENTS_PURPOSE = "audit/arguments";
