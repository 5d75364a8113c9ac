/** One server's connection: it opens, it is lost, it comes back. The only place that changes its state. */
import { configIdentity } from "../config/config-identity.js";
import type { ServerConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import { withDeadline } from "../util/with-deadline.js";
import { closedByServer, serverBlocked, serverDown } from "./connection-errors.js";
import type { ConnectionParts } from "./connection-parts.js";
import { type ConnectionState, errorOf, type StateChange, TRANSITIONS } from "./connection-state.js";
import { type Established, establish } from "./establish.js";
import {
  Failures,
  HEALTHY_AFTER_MS,
  reasonToStop,
  reconnectWaits,
  restartLimitError,
  StartBudget,
} from "./reconnect-policy.js";
import { ReconnectWait } from "./reconnect-wait.js";

/** How long somebody is willing to wait. */
export interface WaitOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export class ServerConnection {
  readonly config: ServerConfig;
  readonly #parts: ConnectionParts;
  readonly #starts = new StartBudget();
  /** Transports and sessions that are on their way out; `close()` waits for them. */
  readonly #closings = new Set<Promise<void>>();
  readonly #retired = new Set<Session>();
  #state: ConnectionState = { status: "idle" };
  #opening: Promise<Session> | undefined;
  /** How many wait for the opening; undefined while it is ours, because a lost connection is brought back unasked. */
  #waiting: number | undefined;
  #ended = new AbortController();
  /** Failures since the connection was last healthy. */
  #failures = new Failures();
  /** The era found last, silence included: good enough for a restart of the same process. */
  #lastEra: Established["era"];
  /** The wait before the next attempt. */
  readonly #reconnectWait = new ReconnectWait();
  #inUse = 0;
  #usedAt = 0;

  constructor(config: ServerConfig, parts: ConnectionParts) {
    this.config = config;
    this.#parts = parts;
    if (!config.enabled) this.#state = { status: "closed", by: "configuration" };
  }

  get name(): string {
    return this.config.name;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The session if calls can be made right now. */
  get session(): Session | undefined {
    return this.#state.status === "ready" ? this.#state.session : undefined;
  }

  /** How long no call was made on a ready connection; 0 while one is under way or there is no connection. */
  get idleMs(): number {
    return this.#state.status === "ready" && this.#inUse === 0 ? performance.now() - this.#usedAt : 0;
  }

  /** Marks the connection as used until the returned function is called. */
  use(): () => void {
    this.#inUse += 1;
    return () => {
      this.#inUse -= 1;
      if (this.#inUse === 0) this.#usedAt = performance.now();
    };
  }

  /** Brings the server up, whatever state it is in. Calls at the same time share one attempt. */
  connect(options: WaitOptions = {}): Promise<Session> {
    if (!this.config.enabled) return Promise.reject(this.#down());
    if (this.config.blocked !== undefined) return Promise.reject(serverBlocked(this.config));
    if (this.#state.status === "ready") return Promise.resolve(this.#state.session);
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    this.#reconnectWait.end();
    if (this.#opening === undefined) {
      this.#starts.reset();
      this.#failures = new Failures();
      this.#begin((signal) => this.#openOnce(1, signal));
      this.#waiting = 0;
    }
    return this.#wait(options);
  }

  /** A session to make a call on: at once if there is one, else as soon as it is back. */
  async acquire(options: WaitOptions & { patient?: boolean | undefined } = {}): Promise<Session> {
    if (options.patient === false) this.#refuseToWait();
    switch (this.#state.status) {
      case "ready":
        return this.#state.session;
      case "authenticating":
        return this.#tryNewCredentials(this.#state.error, options);
      case "closed":
        if (this.#state.by !== "idleness") throw this.#down();
        return this.connect(options);
      case "failed":
        // Somebody wants it: one more try, unless it is plain that trying is what went wrong.
        if (!this.config.reconnect.enabled || isRestartLimit(this.#state.error)) throw this.#state.error;
        return this.connect(options);
      case "idle":
        return this.connect(options);
      default:
        this.#reconnectWait.needed();
        return this.#wait(options);
    }
  }

  async #tryNewCredentials(error: ToolportError, options: WaitOptions): Promise<Session> {
    if (await this.#parts.hasNewCredentials?.(this.name)) return this.connect(options);
    throw error;
  }

  /** Somebody else can be asked: say at once that this server is away, and see to it that it comes back. */
  #refuseToWait(): void {
    const isComingBack = this.#opening !== undefined && this.#waiting === undefined;
    if (!isComingBack && this.#state.status !== "failed") return;
    const error = errorOf(this.#state) ?? this.#failures.last;
    if (
      this.#state.status === "failed" &&
      !isRestartLimit(this.#state.error) &&
      this.config.reconnect.enabled
    ) {
      this.#starts.reset();
      this.#failures = new Failures();
      this.#begin((signal) => this.#openOnce(1, signal));
    }
    throw new ConnectionError({
      code: "UNREACHABLE",
      server: this.name,
      what:
        error === undefined ? "The server was lost and is not back yet" : `The server is away: ${error.what}`,
      retryable: true,
      outcome: "unsent",
      cause: error,
    });
  }

  /** This session is of no use any more: bring the server back. Any number of callers may say so at once. */
  renew(session: Session, error: ToolportError): void {
    if (this.#state.status !== "ready" || this.#state.session !== session) return;
    this.#retire(session);
    if (performance.now() - this.#state.since >= HEALTHY_AFTER_MS) this.#failures = new Failures();
    if (error instanceof AuthError) return this.#giveUp(error, "authorization is needed");
    if (!this.config.reconnect.enabled) return this.#giveUp(error, "it was lost and may not be restarted");
    this.#begin((signal) => this.#reconnect(error, signal));
  }

  /** Puts the server down. It stays down until asked for (`request`) or needed (`idleness`). */
  async disconnect(by: "request" | "idleness" = "request"): Promise<void> {
    if (this.#state.status !== "closed") {
      this.#stop(
        { status: "closed", by },
        by === "request" ? "disconnected on request" : "closed for idleness",
      );
    } else if (this.#state.by === "idleness" && by === "request") {
      this.#state = { status: "closed", by };
    }
    for (const retired of this.#retired) this.#discard(retired.close());
    await Promise.all(this.#closings);
  }

  /** Others may still be waiting for an answer on a session that one call has found lost. */
  #retire(session: Session): void {
    this.#retired.add(session);
    this.#discard(session.retire().finally(() => this.#retired.delete(session)));
  }

  /** Ends what is open and what is being opened. */
  #stop(next: ConnectionState, reason: string): void {
    const session = "session" in this.#state ? this.#state.session : undefined;
    this.#move(next, reason);
    this.#ended.abort(this.#down());
    // It may take a while to come to its end; whoever connects meanwhile must not wait for it.
    this.#opening = undefined;
    if (session !== undefined) this.#discard(session.close());
  }

  #begin(open: (signal: AbortSignal) => Promise<Session>): void {
    this.#waiting = undefined;
    this.#ended = new AbortController();
    const opening = open(this.#ended.signal);
    this.#opening = opening;
    const done = () => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    opening.then(done, done);
  }

  /** Waits for the opening in progress, within the caller's own limits. */
  #wait({ signal, timeoutMs }: WaitOptions): Promise<Session> {
    const opening = this.#opening ?? Promise.reject(this.#down());
    if (this.#waiting !== undefined) this.#waiting += 1;
    const leave = () => {
      if (this.#opening !== opening || this.#waiting === undefined) return;
      this.#waiting -= 1;
      // Whoever runs out of time may ask again and find it ready; whoever aborts has no more use for it.
      if (signal?.aborted && this.#waiting === 0)
        this.#stop({ status: "idle" }, "nobody waits for it any more");
    };
    return withDeadline(opening, {
      signal,
      timeoutMs,
      onTimeout: () =>
        new ToolCallError({
          code: "TIMEOUT",
          server: this.name,
          phase: "connect",
          what: `The server was not ready within ${timeoutMs} ms (${this.#state.status})`,
          next: "Wait longer, or look at the server",
          retryable: true,
          outcome: "unsent",
          // While it tries once more, why it was lost is known from the time before.
          cause: errorOf(this.#state) ?? this.#failures.last,
        }),
    }).finally(leave);
  }

  async #openOnce(attempt: number, signal: AbortSignal): Promise<Session> {
    try {
      return await this.#open(attempt, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = toToolportError(error, { server: this.name, phase: "connect" });
      this.#giveUp(failure, "connecting failed");
      throw failure;
    }
  }

  async #reconnect(lost: ToolportError, signal: AbortSignal): Promise<Session> {
    let error = lost;
    for (;;) {
      const attempt = this.#failures.count + 1;
      const waits = reconnectWaits(attempt, this.config.reconnect);
      const retryAt = Date.now() + waits.backgroundMs;
      this.#move({ status: "reconnecting", attempt, retryAt, error }, "the connection was lost");
      await this.#reconnectWait.start(waits, signal);
      try {
        const session = await this.#open(attempt, signal);
        // Counted although it worked: until it has held for a while, the next loss must wait longer than this one.
        this.#failures.add(error);
        return session;
      } catch (failure) {
        if (signal.aborted) throw signal.reason;
        error = toToolportError(failure, { server: this.name, phase: "connect" });
        this.#failures.add(error);
        const stop = reasonToStop(this.#failures, this.config.reconnect);
        if (stop !== undefined) {
          this.#giveUp(error, stop);
          throw error;
        }
      }
    }
  }

  async #open(attempt: number, signal: AbortSignal): Promise<Session> {
    if (startsProcess(this.config) && !this.#starts.spend()) {
      throw restartLimitError(this.name, this.#failures.last ?? errorOf(this.#state));
    }
    this.#move({ status: "connecting", attempt }, attempt === 1 ? "connecting" : `attempt ${attempt}`);
    const established = await establish({
      config: this.config,
      identityKey: configIdentity(this.config),
      parts: this.#parts,
      lastEra: this.#lastEra,
      signal,
      onConnected: (session) => {
        this.#move({ status: "connected", session }, "handshake done");
        this.#move({ status: "discovering", session }, "reading its lists");
      },
      onDiscarded: (closing) => this.#discard(closing),
    });
    const { session } = established;
    this.#lastEra = established.era;
    if (signal.aborted) {
      this.#discard(session.close());
      throw signal.reason;
    }
    this.#usedAt = performance.now();
    this.#move({ status: "ready", session, since: this.#usedAt }, "ready");
    const readyAt = this.#usedAt;
    void session.closed.then((error) => {
      this.#parts.onSessionEnded?.(session, performance.now() - readyAt, error);
      this.renew(session, error ?? closedByServer(this.name));
    });
    return session;
  }

  #giveUp(error: ToolportError, reason: string): void {
    if (error instanceof AuthError && error.code === "AUTH_REQUIRED") {
      this.#move({ status: "authenticating", error, authUrl: error.authUrl }, reason, error);
    } else {
      this.#move({ status: "failed", error }, reason, error);
    }
  }

  #discard(closing: Promise<void>): void {
    const tracked: Promise<void> = closing
      .catch(() => {})
      .finally(() => {
        this.#closings.delete(tracked);
      });
    this.#closings.add(tracked);
  }

  #move(next: ConnectionState, reason: string, error: ToolportError | undefined = errorOf(next)): void {
    const from = this.#state.status;
    // A late step of an opening that was aborted: the state belongs to whoever aborted it.
    if (!TRANSITIONS[from].includes(next.status)) return;
    this.#state = next;
    const change: StateChange = { server: this.name, from, to: next.status, reason, error };
    this.#parts.onState(change);
  }

  #down(): ConnectionError {
    return serverDown(this.config);
  }
}

const startsProcess = (config: ServerConfig): boolean => config.kind === "stdio" || config.kind === "docker";

const isRestartLimit = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.code === "RESTART_LIMIT";
