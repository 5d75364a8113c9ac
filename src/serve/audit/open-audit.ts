/** The audit log of a gateway: one chained line for every request, in a file, for a callback, or both. */
import { ConfigError } from "../../errors/config-error.js";
import type { Logger } from "../../telemetry/logger.js";
import { callSafely } from "../../util/call-safely.js";
import { parseJson } from "../../util/json.js";
import { AuditChain } from "./audit-chain.js";
import type { AuditEntry, AuditEvent, AuditMac } from "./audit-event.js";
import { AuditFile } from "./audit-file.js";

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

export interface AuditParts {
  /** `Seal.mac` of the gateway. */
  readonly mac: AuditMac;
  /** Name of the replica. */
  readonly replica: string;
  readonly logger: Pick<Logger, "warn">;
}

export interface Audit {
  /**
   * Undefined if there is space for the lines of one more request; else resolves when there is. Wait for it before a request has an
   * effect. Rejects on abort, and when the log is closed: nothing may run then, as it would have no line.
   */
  space(signal?: () => AbortSignal): Promise<void> | undefined;
  /** Adds one line. Never throws. */
  record(entry: AuditEntry): void;
  /** Waits until everything is written. Rejects if it cannot be. */
  flush(): Promise<void>;
  /** Ends the chain and closes the file. Lines that cannot be written are reported to the logger. */
  close(): Promise<void>;
}

const BATCH_MS = 5;
const DEFAULT_FSYNC_MS = 1_000;
const DEFAULT_BUFFER_BYTES = 16 * 2 ** 20;

/**
 * Opens the audit log and begins a chain.
 *
 * @throws ConfigError if there is no destination, or the file cannot be opened
 */
export async function openAudit(option: AuditOption, { mac, replica, logger }: AuditParts): Promise<Audit> {
  const {
    file: path,
    onEvent,
    write = "batch",
    fsyncMs = DEFAULT_FSYNC_MS,
    maxBufferBytes = DEFAULT_BUFFER_BYTES,
    includeArguments = false,
  } = readOption(option);
  const chain = new AuditChain({ mac, replica, includeArguments });
  const warn = (message: string, cause: unknown) => logger.warn(message, cause);
  let lost = 0;
  let isClosed = false;
  const file =
    path === undefined
      ? undefined
      : await AuditFile.open(path, {
          batchMs: write === "call" ? 0 : BATCH_MS,
          fsyncMs,
          maxBufferBytes,
          onError: warn,
          onWarning: (message) => warn(message, undefined),
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
    space: (signal) => file?.space(signal),
    record(entry) {
      if (isClosed) return;
      // A line that is not written must not be in the chain: the next one would contain its hash.
      if (file?.isStuck === true) {
        if (lost++ === 0)
          warn(
            "The disk of the audit log fails; requests are only counted until it can be written",
            undefined,
          );
        return;
      }
      add(lineOf(entry));
    },
    flush: async () => file?.flush(),
    async close() {
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
function macOf(line: string | undefined): string | undefined {
  const { mac } = (line === undefined ? {} : ((parseJson(line) as Partial<AuditEvent> | null) ?? {})) as {
    mac?: unknown;
  };
  return typeof mac === "string" ? mac : undefined;
}
