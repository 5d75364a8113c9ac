/** JSON-RPC over the standard streams of a process: stdio servers, and the part that containers share with them. */

import type { Writable } from "node:stream";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { afterNextPoll, ConnectionError, type Outcome, toPlainText } from "@toolport/base";
import { secretsOf } from "../../config/known-secrets.js";
import type { StdioConfig } from "../../config/server-config.js";
import { TailBuffer } from "../find-message-id.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import { errorLines } from "./error-lines.js";
import { createLineDecoder, MessageReader } from "./message-reader.js";
import {
  DEFAULT_STOP_TIMEOUTS,
  type ExitStatus,
  type LaunchOptions,
  ServerProcess,
  type StopTimeouts,
  settledWithin,
} from "./server-process.js";
import {
  type Explanation,
  explainSpawnError,
  mergeEnvironment,
  safeEnvironment,
  serveChain,
} from "./spawn-environment.js";

/** How a process ended; no status: it closed a pipe but is still running. */
export interface ProcessEnd {
  readonly status: ExitStatus | undefined;
  /** The process has sent at least one message. */
  readonly hasSentMessage: boolean;
}

interface ProcessTransportOptions {
  readonly kind: "stdio" | "docker";
  readonly server: string;
  readonly command: string;
  readonly encoding: string;
  readonly maxMessageBytes: number;
  readonly stopTimeouts: StopTimeouts;
  /** Redacts secrets that the process prints, for error messages. */
  readonly redact: (text: string) => string;
  readonly launchOptions: () => LaunchOptions;
  /** Receives what the process writes to stderr. @default none */
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined;
  /** Explains a missing program. @default a message about the command */
  readonly explainStart?: ((errno: string | undefined) => Explanation | undefined) | undefined;
  /** Explains an exit code. @default a message about the command */
  readonly explainEnd?: ((end: ProcessEnd) => Explanation | undefined) | undefined;
  /** Called if the process still runs after the end of its input. */
  readonly onStillRunning?: (() => void) | undefined;
  /** Removes what the process leaves behind. Never rejects. */
  readonly cleanUp?: (() => Promise<void>) | undefined;
}

/** After one pipe has closed: how long to wait for the process to exit. */
const EXIT_GRACE_MS = 200;
/** After the exit: how long to read the remaining output. */
const DRAIN_MS = 100;
/** For a process that has closed its output: no reason to wait. */
const LOST_TIMEOUTS: StopTimeouts = { eofMs: 0, termMs: 500, leftoverMs: 200 };

/** One process, from start to end. Every connection uses a new one. */
export class ProcessTransport implements ServerTransport {
  onclose?: ServerTransport["onclose"];
  onerror?: ServerTransport["onerror"];
  onmessage?: ServerTransport["onmessage"];
  ondiscard?: ServerTransport["ondiscard"];
  onstreamcut?: ServerTransport["onstreamcut"];
  readonly firstSign: Promise<void>;
  /** Always null: stderr is read here. The SDK recognises a process transport by this property and `pid`. */
  readonly stderr = null;

  readonly #options: ProcessTransportOptions;
  readonly #stderrTail: StderrTail;
  #phase: "new" | "starting" | "open" | "ending" | "closed" = "new";
  #closedByCaller = false;
  #closeError: ConnectionError | undefined;
  #starting: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #process: ServerProcess | undefined;
  #outbox: Outbox | undefined;
  /** Id of the last written request, if nothing was written after it. */
  #lastWritten: RequestId | undefined;
  /** The process ended with unread input. */
  #unread = false;
  #reader: MessageReader | undefined;
  #resolveFirstSign: () => void = () => {};

  constructor(options: ProcessTransportOptions) {
    this.#options = options;
    this.#stderrTail = new StderrTail(options.redact);
    this.firstSign = new Promise((resolve) => {
      this.#resolveFirstSign = resolve;
    });
  }

  get kind(): "stdio" | "docker" {
    return this.#options.kind;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get closeError(): ConnectionError | undefined {
    return this.#closeError;
  }

  /** Number of lines on standard output that were not messages. */
  get skippedLines(): number {
    return this.#reader?.skippedLines ?? 0;
  }

  async start(): Promise<void> {
    if (this.#phase !== "new") throw this.#closedError("unsent", "The transport was started before");
    this.#phase = "starting";
    this.#starting = this.#launch();
    await this.#starting;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#phase !== "open" || this.#outbox === undefined) throw this.#closedError("unsent");
    this.#lastWritten = "id" in message && "method" in message ? message.id : undefined;
    await this.#outbox.send(`${JSON.stringify(message)}\n`);
  }

  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#phase = "ending";
      this.#closedByCaller = true;
      this.#outbox?.close();
      this.#ending = this.#stop();
    }
    return this.#ending;
  }

  async #launch(): Promise<void> {
    const { server, encoding, command, launchOptions } = this.#options;
    const decode = createLineDecoder(encoding, server);
    const launch = launchOptions();
    try {
      this.#process = await ServerProcess.launch(launch);
    } catch (cause) {
      const error = await explainSpawnError({ server, command, cwd: launch.cwd }, cause);
      throw this.#explainStart(error);
    }
    // Closed meanwhile: close() waits for this start and then ends the process.
    if (this.#phase !== "starting") throw this.#closedError("unsent");
    this.#phase = "open";
    this.#attach(this.#process, decode);
  }

  #attach(process: ServerProcess, decode: ReturnType<typeof createLineDecoder>): void {
    const { server, maxMessageBytes } = this.#options;
    const reader = new MessageReader({
      server,
      maxMessageBytes,
      decode,
      redact: this.#options.redact,
      onMessage: this.#receive,
      onDiscard: (discarded) => this.#isolate(() => this.ondiscard?.(discarded)),
      onWarning: (error) => this.#report(error),
    });
    this.#reader = reader;
    this.#outbox = new Outbox(process.stdin, (outcome) => this.#closedError(outcome));
    process.stdout.on("data", (chunk: Buffer) => {
      this.#resolveFirstSign();
      reader.push(chunk);
    });
    process.stderr?.on("data", (chunk: Buffer) => {
      this.#resolveFirstSign();
      this.#stderrTail.push(chunk);
      this.#options.onStderr?.(chunk);
    });
    const lost = () => this.#lose();
    process.stdin.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNRESET") this.#unread = true;
      lost();
    });
    process.stdout.on("end", lost).on("error", lost);
    process.exited.then(lost);
  }

  readonly #receive = (message: JSONRPCMessage): void => {
    if (this.#closedByCaller) return;
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.#report(error);
    }
  };

  #isolate(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    try {
      this.onerror?.(error as Error);
    } catch {
      // There is nowhere left to report it.
    }
  }

  /**
   * The process ended with unread input, which proves only that the last bytes were not read. The last request counts as
   * unsent only if nothing was written after it; otherwise it may have run.
   */
  #reportUnread(): void {
    const id = this.#lastWritten;
    if (id !== undefined) this.#isolate(() => this.onstreamcut?.(id, this.#closedError("unsent")));
  }

  #lose(): void {
    if (this.#phase !== "open") return;
    this.#phase = "ending";
    this.#outbox?.close();
    this.#ending = this.#handleLoss(this.#process!);
  }

  /** The process exited unexpectedly, or closed one of its pipes. */
  async #handleLoss(process: ServerProcess): Promise<void> {
    await settledWithin(process.exited, EXIT_GRACE_MS);
    const status = process.status;
    if (status === undefined) await process.stop(LOST_TIMEOUTS);
    else await process.endGroup(drain(process));
    this.#reader?.end();
    this.#closeError = this.#explainEnd({ status, hasSentMessage: (this.#reader?.messages ?? 0) > 0 });
    // After `#closeError` is set: listeners read it.
    if (this.#unread) this.#reportUnread();
    // Let the rejections of `send()` above reach their callers before `onclose`.
    await new Promise((resolve) => setImmediate(resolve));
    this.#finish();
    await this.#options.cleanUp?.();
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {});
    if (this.#process !== undefined) {
      await this.#process.stop(this.#options.stopTimeouts, this.#options.onStillRunning);
      await this.#options.cleanUp?.();
    }
    this.#reader?.clear();
    this.#finish();
  }

  #finish(): void {
    this.#phase = "closed";
    this.#outbox?.abandon();
    this.#isolate(() => this.onclose?.());
  }

  #closedError(outcome: Outcome, what?: string): ConnectionError {
    const name = this.#options.command;
    return new ConnectionError({
      code: "CLOSED",
      what:
        what ?? (this.#phase === "new" ? `"${name}" was not started yet` : `"${name}" is no longer running`),
      next: "Open a new connection",
      server: this.#options.server,
      retryable: !this.#closedByCaller,
      outcome,
      cause: this.#closeError,
    });
  }

  #explainStart(error: ConnectionError): ConnectionError {
    const explanation = this.#options.explainStart?.(error.errno);
    if (explanation === undefined) return error;
    const { code, server, errno, retryable, outcome, cause } = error;
    return new ConnectionError({ code, server, errno, retryable, outcome, cause, ...explanation });
  }

  #explainEnd(end: ProcessEnd): ConnectionError {
    const { server, explainEnd } = this.#options;
    const { what, next } = explainEnd?.(end) ?? this.#describeEnd(end);
    const cause = this.#stderrTail.cause();
    return new ConnectionError({
      code: end.hasSentMessage ? "CLOSED" : "SPAWN_FAILED",
      what: cause === undefined ? what : `${what}; stderr: "${cause}"`,
      next,
      server,
      exitCode: end.status?.exitCode,
      signal: end.status?.signal,
      stderrTail: this.#stderrTail.tail(),
      retryable: true,
    });
  }

  #describeEnd({ status, hasSentMessage }: ProcessEnd): Explanation {
    const how = describeStatus(status);
    return {
      what: `"${this.#options.command}" ${how}${hasSentMessage ? "" : " before it sent a message"}`,
      next: hasSentMessage ? "The next call starts it again" : "Run the command by hand to see why it exits",
    };
  }
}

/** Continues a sentence after the name of a program. */
export function describeStatus(status: ExitStatus | undefined): string {
  if (status === undefined) return "closed its standard input or output";
  if (status.signal !== null) return `was ended by ${status.signal}`;
  return `exited with code ${status.exitCode}`;
}

/** Waits until the output of an exited process has been read, unless a descendant keeps the pipes open. */
async function drain({ stdout, stderr }: ServerProcess): Promise<void> {
  await settledWithin(Promise.all([ended(stdout), ended(stderr)]), DRAIN_MS);
  // On a busy host the timer may fire before the pipes are polled.
  await new Promise<void>((resolve) => void afterNextPoll(resolve));
}

/** Resolves when the stream has ended. */
function ended(stream: NodeJS.ReadableStream | null): Promise<void> {
  return new Promise((resolve) => {
    if (stream === null || !stream.readable) return resolve();
    stream.once("end", resolve);
    stream.once("close", resolve);
  });
}

const TAIL_BYTES = 4_096;
/** Uses at most 64 KiB of memory. Text with colours and progress bars gets much shorter when they are removed. */
const KEPT_BYTES = 32 * 1_024;

/** Collects stderr in bounded memory. */
export class StderrTail {
  readonly #buffer = new TailBuffer(KEPT_BYTES);
  readonly #redact: (text: string) => string;

  /** @param redact redacts secrets in the text */
  constructor(redact: (text: string) => string = (text) => text) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    this.#buffer.add(chunk);
  }

  /** The last 4 KiB as plain text, from the beginning of a line; undefined if nothing was written. */
  tail(): string | undefined {
    const plain = this.#plain();
    if (plain === "") return undefined;
    const bytes = Buffer.from(plain);
    if (bytes.length <= TAIL_BYTES) return plain;
    const cut = bytes.subarray(bytes.length - TAIL_BYTES).toString("utf8");
    const lineStart = cut.indexOf("\n") + 1;
    // A single long line has no beginning to cut at; drop half a character at the front.
    return lineStart === 0 || lineStart === cut.length ? cut.replace(/^\uFFFD+/, "") : cut.slice(lineStart);
  }

  /** The lines that say why the process failed, joined for an error message. */
  cause(): string | undefined {
    const lines = errorLines(this.#plain());
    return lines.length === 0 ? undefined : lines.join(" / ");
  }

  #plain(): string {
    return this.#redact(
      toPlainText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#buffer.last(KEPT_BYTES))),
    ).trim();
  }
}

export interface StdioTransportOptions {
  /** Timeouts for the steps of a stop. @default 1.5 s for end of input, 1.5 s for SIGTERM */
  readonly stopTimeouts?: StopTimeouts | undefined;
}

/**
 * Starts `config.command` without a shell, and ends it together with its descendants.
 *
 * The process runs in its own process group, so a Ctrl-C in the terminal does not reach it. If this process dies, the
 * guardian ends it.
 */
export function createStdioTransport(
  config: StdioConfig,
  context: Pick<TransportContext, "maxMessageBytes" | "onStderr">,
  options: StdioTransportOptions = {},
): ServerTransport {
  const { name, command, args, cwd, stderr, encoding } = config;
  const own = config.env.reveal();
  return new ProcessTransport({
    kind: "stdio",
    server: name,
    command,
    encoding,
    maxMessageBytes: context.maxMessageBytes,
    stopTimeouts: options.stopTimeouts ?? DEFAULT_STOP_TIMEOUTS,
    redact: secretsOf(config).foreign,
    onStderr: context.onStderr,
    launchOptions: () => {
      const defaults = safeEnvironment();
      const inherited = config.inheritEnv ? process.env : undefined;
      const env = mergeEnvironment({
        defaults,
        inherited,
        platform: process.platform,
        own: { ...own, ...serveChain() },
      });
      return { command, args, env, cwd, stderr };
    },
  });
}

/** A socket writes this much completely or not at all, so a failed write of it delivered nothing. */
const ATOMIC_CHARS = 4 * 1_024;

/** Taken when the module is loaded: a test that replaces the timers does not stop the pipes. */
const { setImmediate: afterPoll } = globalThis;

/** Lines that are written together. */
interface Batch {
  readonly lines: string[];
  chars: number;
  readonly sent: Promise<void>;
  readonly settle: (error?: Error) => void;
}

function createBatch(): Batch {
  let settle!: Batch["settle"];
  const sent = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === undefined ? resolve() : reject(error));
  });
  // Avoid an unhandled rejection when no caller awaits.
  sent.catch(() => {});
  return { lines: [], chars: 0, sent, settle };
}

/**
 * Collects the lines of one turn of the event loop and writes them together. With many calls in flight most of the CPU is spent on
 * writes, because each wakes up the server. Lines that wait for the current write are known to be unsent.
 */
export class Outbox {
  readonly #stream: Writable;
  /** The error of a line: it was not sent, or the server may have read it. */
  readonly #errorOf: (outcome: Outcome) => Error;
  #next: Batch | undefined;
  #writing: Batch | undefined;
  #scheduled = false;
  #closed = false;

  constructor(stream: Writable, errorOf: (outcome: Outcome) => Error) {
    this.#stream = stream;
    this.#errorOf = errorOf;
  }

  /** Resolves when the pipe has accepted the line; rejects otherwise. */
  send(line: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#errorOf("unsent"));
    const isFull = this.#next !== undefined && this.#next.chars + line.length > ATOMIC_CHARS;
    if (isFull && this.#writing === undefined) this.#write();
    this.#next ??= createBatch();
    this.#next.lines.push(line);
    this.#next.chars += line.length;
    if (!this.#scheduled && this.#writing === undefined) {
      this.#scheduled = true;
      afterPoll(this.#flush);
    }
    return this.#next.sent;
  }

  /** Rejects all waiting lines and all later ones. */
  close(): void {
    if (this.#closed) return;
    // Lines that were accepted in this turn are still written.
    if (this.#writing === undefined) this.#write();
    this.#closed = true;
    this.#next?.settle(this.#errorOf("unsent"));
    this.#next = undefined;
  }

  /** The stream is closed: the current write has failed too. */
  abandon(): void {
    this.close();
    this.#writing?.settle(this.#errorOf("unknown"));
    this.#writing = undefined;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#writing === undefined) this.#write();
  };

  #write(): void {
    const batch = this.#next;
    if (batch === undefined || this.#closed) return;
    this.#next = undefined;
    if (!this.#stream.writable) return batch.settle(this.#errorOf("unsent"));
    this.#writing = batch;
    this.#stream.write(batch.lines.join(""), (error) => this.#written(batch, error));
  }

  #written(batch: Batch, error: Error | null | undefined): void {
    // A failed write delivered no complete line: a single line lacks its end, a short batch was not written.
    const isUnsent = batch.lines.length === 1 || batch.chars <= ATOMIC_CHARS;
    if (error) batch.settle(this.#errorOf(isUnsent ? "unsent" : "unknown"));
    // Node reports no error if the stream was destroyed during the write.
    else batch.settle(this.#stream.destroyed ? this.#errorOf("unknown") : undefined);
    if (this.#writing !== batch) return;
    this.#writing = undefined;
    if (this.#next !== undefined && !this.#scheduled) this.#write();
  }
}
