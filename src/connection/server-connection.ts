/** One server's connection: it opens, it is lost, it comes back. The only place that changes its state. */
import type { ServerConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Session } from "../protocol/session.js";
import { withDeadline } from "../util/with-deadline.js";
import { closedByServer, notReady, serverAway, serverBlocked, serverDown } from "./connection-errors.js";
import type { ConnectionParts, WaitOptions } from "./connection-parts.js";
import {
  type ConnectionState,
  errorOf,
  type ReadyState,
  type StateChange,
  TRANSITIONS,
} from "./connection-state.js";
import { Departures } from "./departures.js";
import { type Established, establish } from "./establish.js";
import { findLoss, mayBeReplacedAtOnce, PING_LIMIT_MS, waitForSign } from "./health-check.js";
import {
  Failures,
  failuresAfter,
  isRestartLimit,
  reasonToStop,
  reconnectWaits,
  restartLimitError,
  StartBudget,
} from "./reconnect-policy.js";
import { ReconnectWait } from "./reconnect-wait.js";
import { Usage } from "./run-on-session.js";

export type { WaitOptions };

export class ServerConnection {
  readonly config: ServerConfig;
  readonly usage = new Usage();
  /** The connection that took the place of this one. Calls that have not been sent yet use it. */
  replacement: ServerConnection | undefined;
  readonly #parts: ConnectionParts;
  readonly #starts = new StartBudget();
  readonly #departures = new Departures();
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
  /** Callers that wait for the server now. */
  #waiters = 0;
  /** The session that is being pinged: one ping at a time. */
  #pinged: Session | undefined;

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

  /** This connection, or the one that has replaced it. */
  get current(): ServerConnection {
    return this.replacement === undefined ? this : this.replacement.current;
  }

  /** Brings the server up, whatever state it is in. Calls at the same time share one attempt. */
  connect(options: WaitOptions = {}): Promise<Session> {
    if (!this.config.enabled) return Promise.reject(serverDown(this.config));
    if (this.config.blocked !== undefined) return Promise.reject(serverBlocked(this.config));
    if (this.#state.status === "ready") return Promise.resolve(this.#state.session);
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    this.#reconnectWait.end();
    if (this.#opening === undefined) {
      this.#startAnew();
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
        if (this.#state.by !== "idleness") throw serverDown(this.config);
        return this.connect(options);
      case "failed":
        // Somebody wants it: one more try, unless it is plain that trying is what went wrong.
        if (!this.#mayRestart(this.#state.error)) throw this.#state.error;
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
    if (this.#state.status === "failed" && this.#mayRestart(this.#state.error)) this.#startAnew();
    throw serverAway(this.name, error);
  }

  #mayRestart(error: ToolportError): boolean {
    return this.config.reconnect.enabled && !isRestartLimit(error);
  }

  /** Earlier starts and failures no longer count. */
  #startAnew(): void {
    this.#starts.reset();
    this.#failures = new Failures();
    this.#begin((signal) => this.#openOnce(1, signal));
  }

  /** This session is of no use any more: bring the server back. Any number of callers may say so at once. */
  renew(session: Session, error: ToolportError): void {
    if (this.#state.status !== "ready" || this.#state.session !== session) return;
    this.#departures.retire(session);
    this.#failures = failuresAfter(this.#state.since, this.#failures);
    if (error instanceof AuthError) return this.#giveUp(error, "authorization is needed");
    if (!this.config.reconnect.enabled) return this.#giveUp(error, "it was lost and may not be restarted");
    this.#begin((signal) => this.#reconnect(error, signal));
  }

  /** Pings the server, and replaces its session if no sign of life comes back. One check at a time. */
  async checkHealth(session = this.session): Promise<void> {
    if (session === undefined || session !== this.session || session === this.#pinged) return;
    this.#pinged = session;
    const loss = await findLoss(session, this.#parts.pingLimitMs ?? PING_LIMIT_MS);
    if (this.#pinged === session) this.#pinged = undefined;
    const state = this.#state;
    if (loss === undefined || state.status !== "ready" || state.session !== session) return;
    if (!mayBeReplacedAtOnce(session))
      return this.#begin((signal) => this.#replaceSilent(state, loss, signal));
    if (loss.code === "UNREACHABLE") this.#parts.onSilent?.(this.name, loss);
    this.renew(session, loss);
  }

  /** New calls wait, those under way go on; when the last of them is over, the process is ended and a new one started. */
  async #replaceSilent(ready: ReadyState, loss: ToolportError, signal: AbortSignal): Promise<Session> {
    const { session } = ready;
    const attempt = this.#failures.count + 1;
    this.#move({ status: "reconnecting", attempt, retryAt: Date.now(), error: loss }, "it does not answer");
    const release = this.#departures.hold(session);
    try {
      if ((await waitForSign(session, signal)) === "alive") {
        signal.throwIfAborted();
        this.#move(ready, "it answers again");
        return session;
      }
      this.#parts.onSilent?.(this.name, loss);
      await session.close();
    } finally {
      release();
    }
    signal.throwIfAborted();
    this.#failures = failuresAfter(ready.since, this.#failures);
    if (this.config.reconnect.enabled) return this.#reconnect(loss, signal);
    this.#giveUp(loss, "it was lost and may not be restarted");
    throw loss;
  }

  /** Puts the server down. It stays down until asked for (`request`) or needed (`idleness`). */
  async disconnect(by: "request" | "idleness" = "request"): Promise<void> {
    if (this.#state.status !== "closed") {
      const reason = by === "request" ? "disconnected on request" : "closed for idleness";
      this.#stop({ status: "closed", by }, reason);
    } else if (this.#state.by === "idleness" && by === "request") {
      this.#state = { status: "closed", by };
    }
    await this.#departures.closeAll();
  }

  /** Another connection takes its place: this one ends with the last call on it. */
  async retire(): Promise<void> {
    if (this.#state.status !== "ready") return this.disconnect();
    this.#departures.retire(this.#state.session);
    this.#move({ status: "closed", by: "request" }, "replaced by a new connection");
    await this.#departures.settled();
  }

  /** Ends what is open and what is being opened. */
  #stop(next: ConnectionState, reason: string): void {
    const session = "session" in this.#state ? this.#state.session : undefined;
    this.#move(next, reason);
    this.#ended.abort(serverDown(this.config));
    // It may take a while to come to its end; whoever connects meanwhile must not wait for it.
    this.#opening = undefined;
    if (session !== undefined) this.#departures.track(session.close());
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
    const opening = this.#opening ?? Promise.reject(serverDown(this.config));
    if (this.#waiting !== undefined) this.#waiting += 1;
    this.#waiters += 1;
    const leave = () => {
      this.#waiters -= 1;
      if (this.#opening !== opening || this.#waiting === undefined) return;
      this.#waiting -= 1;
      // Whoever runs out of time may ask again and find it ready; whoever aborts has no more use for it.
      if (signal?.aborted && this.#waiting === 0)
        this.#stop({ status: "idle" }, "nobody waits for it any more");
    };
    return withDeadline(opening, {
      signal,
      timeoutMs,
      onTimeout: () => {
        // While it tries once more, why it was lost is known from the time before.
        const cause = errorOf(this.#state) ?? this.#failures.last;
        return notReady(this.config, { timeoutMs, status: this.#state.status, cause });
      },
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
      const waiting = this.#reconnectWait.start(waits, signal);
      // Callers that began to wait before this attempt, or through the one before, need it as much as new ones.
      if (this.#waiters > 0) this.#reconnectWait.needed();
      await waiting;
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
    const startsProcess = this.config.kind === "stdio" || this.config.kind === "docker";
    if (startsProcess && !this.#starts.spend()) {
      throw restartLimitError(this.name, this.#failures.last ?? errorOf(this.#state));
    }
    this.#move({ status: "connecting", attempt }, attempt === 1 ? "connecting" : `attempt ${attempt}`);
    const established = await establish({
      config: this.config,
      parts: this.#parts,
      lastEra: this.#lastEra,
      signal,
      onConnected: (session) => {
        this.#move({ status: "connected", session }, "handshake done");
        this.#move({ status: "discovering", session }, "reading its lists");
      },
      onDiscarded: (closing) => this.#departures.track(closing),
    });
    const { session } = established;
    this.#lastEra = established.era;
    if (signal.aborted) {
      this.#departures.track(session.close());
      throw signal.reason;
    }
    const readyAt = performance.now();
    this.usage.touch();
    this.#move({ status: "ready", session, since: readyAt }, "ready");
    session.onSilence(() => void this.checkHealth(session));
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

  #move(next: ConnectionState, reason: string, error: ToolportError | undefined = errorOf(next)): void {
    const from = this.#state.status;
    // A late step of an opening that was aborted: the state belongs to whoever aborted it.
    if (!TRANSITIONS[from].includes(next.status)) return;
    this.#state = next;
    const change: StateChange = { server: this.name, from, to: next.status, reason, error };
    this.#parts.onState(change);
  }
}
