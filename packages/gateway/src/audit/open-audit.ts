/** The audit log of a gateway: one chained line for every request, in a file, for a callback, or both. */

import { hash, randomBytes } from "node:crypto";
import {
  ConfigError,
  callSafely,
  canonicalJson,
  type Fields,
  isRecord,
  type Logger,
  oncePerObject,
  parseJson,
} from "@toolport/base";
import { definitionText } from "@toolport/core/internal";
import type { Seal } from "../replicas/seal.js";
import { AuditFile } from "./audit-file.js";

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
const ARGUMENTS_PURPOSE = "audit/arguments";

/** Where a gateway writes what happened. */
export interface AuditOptions {
  /**
   * Lines are appended to this file. A new one can be read by its owner only; one that exists keeps its permissions, with a warning
   * if every user can access it. One file for each replica.
   * @default none
   */
  readonly file?: string;
  /** Called with every line. An error is logged and changes nothing. @default none */
  readonly onEvent?: (event: AuditEvent) => unknown;
  /**
   * When lines are written. `"batch"`: after 5 ms at most, or after the batch before them; a process that is killed loses those
   * that wait. `"call"`: before the client gets its response.
   * @default "batch"
   */
  readonly write?: "batch" | "call";
  /** How often the file is flushed to the disk, for a loss of power. `Infinity`: only at the end. @default 1000 */
  readonly fsyncMs?: number;
  /**
   * Lines that wait to be written. Further requests wait before they begin. If the disk fails, they do not wait: they are counted
   * until it works again.
   * @default 16777216
   */
  readonly maxBufferBytes?: number;
  /** Writes arguments too, not only their hash. They may contain secrets. Of large ones, the first 4,096 characters. @default false */
  readonly includeArguments?: boolean;
}

/** A file, a callback, or both with more options. */
export type AuditOption = string | ((event: AuditEvent) => unknown) | AuditOptions;

export type Audit = Awaited<ReturnType<typeof openAudit>>;

const BATCH_MS = 5;
const DEFAULT_FSYNC_MS = 1_000;
const DEFAULT_BUFFER_BYTES = 16 * 2 ** 20;

/**
 * Opens the audit log and begins a chain.
 *
 * @throws ConfigError if there is no destination, or the file cannot be opened
 */
export async function openAudit(
  option: AuditOption,
  { mac, replica, logger }: { mac: AuditMac; replica: string; logger: Pick<Logger, "warn"> },
) {
  const {
    file: path,
    onEvent,
    write = "batch",
    fsyncMs = DEFAULT_FSYNC_MS,
    maxBufferBytes = DEFAULT_BUFFER_BYTES,
    includeArguments = false,
  } = readOption(option);
  const chain = new AuditChain({ mac, replica, includeArguments });
  const warn = (message: string, cause?: unknown) => logger.warn(message, cause);
  let lost = 0;
  let isClosed = false;
  const file =
    path === undefined
      ? undefined
      : await AuditFile.open(path, {
          batchMs: write === "call" ? 0 : BATCH_MS,
          fsyncMs,
          maxBufferBytes,
          warn,
          onDrained: () => {
            if (lost === 0) return;
            const count = lost;
            lost = 0;
            add(chain.lost(count));
          },
        });

  const lineOf = (entry: AuditEntry): string => {
    try {
      return chain.request(entry);
    } catch (error) {
      warn("The arguments of a request are missing in the audit log", error);
      return chain.request({ ...entry, args: undefined, definition: undefined });
    }
  };
  const add = (line: string): void => {
    file?.append(line);
    if (onEvent !== undefined)
      void callSafely(
        () => onEvent(JSON.parse(line)),
        (error) => warn("The audit callback failed", error),
      );
  };
  const last = file?.lastLine();
  const first = chain.start(macOf(last?.text));
  // In one write with the first line: a line break alone would make the incomplete line look like a changed one.
  add(last?.isCut === true ? `\n${first}` : first);

  return {
    /**
     * Undefined if there is space for the lines of one more request; else resolves when there is. Wait for it before a request has an
     * effect. Rejects on abort, and when the log is closed: nothing may run then, as it would have no line.
     */
    space: (signal?: AbortSignal): Promise<void> | undefined => file?.space(signal),
    /** Adds one line. Never throws. */
    record(entry: AuditEntry): void {
      if (isClosed) return;
      // A line that is not written must not be in the chain: the next one would contain its hash.
      if (file?.isStuck !== true) return add(lineOf(entry));
      if (lost++ === 0)
        warn("The disk of the audit log fails; requests are only counted until it can be written");
    },
    /** Waits until everything is written. Rejects if it cannot be. */
    flush: async (): Promise<void> => file?.flush(),
    /** Ends the chain and closes the file. Lines that cannot be written are reported to the logger. */
    async close(): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      if (lost > 0) add(chain.lost(lost));
      add(chain.end());
      await file?.close().catch((error: unknown) => warn("The end of the audit log was not written", error));
    },
  };
}

function readOption(option: AuditOption): AuditOptions {
  if (typeof option === "string") return { file: option };
  if (typeof option === "function") return { onEvent: option };
  if (option.file === undefined && option.onEvent === undefined)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The audit log has no destination",
      next: "Set `file` or `onEvent`",
    });
  return option;
}

/** The hash of a line that is in the file already. */
function macOf(line = ""): string | undefined {
  const event = parseJson(line);
  return isRecord(event) && typeof event["mac"] === "string" ? event["mac"] : undefined;
}

/** Longer texts are cut. */
const MAX_TEXT = 512;

/** Longer arguments are cut, so that a client does not decide how long a line is. */
const MAX_ARGUMENTS = 4_096;

type LineFields = { readonly [Key in keyof AuditEvent]?: AuditEvent[Key] | undefined };

export class AuditChain {
  readonly #id: string;
  #seq = 0;
  #prev = "";
  /** Definitions are listed once and called often: a hash for each call moves "echo call → stdio". */
  readonly #hashOf = oncePerObject((definition: Fields) => hash("sha256", definitionText(definition), "hex"));

  /** @param options the replica is named in the id of the chain. With `includeArguments` lines have the arguments, not only their hash */
  constructor(private readonly options: { mac: AuditMac; replica: string; includeArguments: boolean }) {
    this.#id = `${short(options.replica)}-${randomBytes(6).toString("hex")}`;
  }

  /** The first line. @param after the hash of the last line that the file has already */
  start(after: string | undefined): string {
    return this.#line("start", { after });
  }

  lost(count: number): string {
    return this.#line("lost", { count });
  }

  end(): string {
    return this.#line("end", {});
  }

  /** Clients choose some of the texts, so they are cut. */
  request(entry: AuditEntry): string {
    const { principal, method, server, tool, definition, args, outcome, code, durationMs } = entry;
    return this.#line("request", {
      principal: short(principal),
      method: short(method),
      server: short(server),
      tool: short(tool),
      definitionHash: definition && this.#hashOf(definition),
      ...(args && this.#argumentFields(args)),
      outcome,
      code: typeof code === "number" ? code : short(code),
      durationMs: Math.round(durationMs * 1_000) / 1_000,
    });
  }

  #argumentFields(args: Readonly<Record<string, unknown>>): LineFields {
    const json = jsonOf(args);
    if (json.length <= MAX_ARGUMENTS) {
      const argumentHash = this.options.mac(ARGUMENTS_PURPOSE, canonicalJson(args));
      return this.options.includeArguments ? { argumentHash, args } : { argumentHash };
    }
    // Large arguments are hashed once, as the client wrote them: to sort their members takes ten times as long.
    const sha256 = hash("sha256", json, "hex");
    const argumentHash = this.options.mac(ARGUMENTS_PURPOSE, sha256);
    const cutArgs = { start: json.slice(0, MAX_ARGUMENTS), length: json.length, sha256 };
    return this.options.includeArguments ? { argumentHash, cutArgs } : { argumentHash };
  }

  /**
   * A line of the log, with its line break. Everything that can throw comes before the number is used: a number that is used must
   * appear in the log.
   */
  #line(event: AuditEvent["event"], fields: LineFields): string {
    const time = new Date().toISOString();
    const line = JSON.stringify({
      chain: this.#id,
      seq: this.#seq,
      time,
      event,
      ...fields,
      prev: this.#prev,
    });
    this.#prev = this.options.mac(LINE_PURPOSE, line);
    this.#seq++;
    return `${line.slice(0, -1)},"mac":"${this.#prev}"}\n`;
  }
}

function jsonOf(args: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(args);
  } catch {
    // `JSON.stringify` is recursive: arguments may be too deep for it.
    return canonicalJson(args);
  }
}

const short = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
