/** The state machine of one connection: it connects, reconnects and closes. All state changes happen here. Runs operations on its session. */

import {
  AuthError,
  afterUnknown,
  pause,
  type ToolportError,
  toToolportError,
  withDeadline,
} from "@toolport/base";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { Session } from "../protocol/session.js";
import type { Resends } from "../transports/server-transport.js";
import {
  type ConnectionParts,
  type ConnectionState,
  closedByServer,
  errorOf,
  notReady,
  type ReadyState,
  type StateChange,
  serverAway,
  serverBlocked,
  serverDown,
  stateAfter,
  TRANSITIONS,
  type WaitOptions,
} from "./connection-state.js";
import { type Established, establish } from "./establish.js";
import { ReconnectWait, RestartBudget, reconnectWaits } from "./reconnect-policy.js";
import {
  findLoss,
  isClosing,
  isConnectionFailure,
  isLost,
  isRefusedEra,
  isSessionLost,
  mayBeReplacedAtOnce,
  PING_LIMIT_MS,
  retryableIfLost,
  waitForSign,
} from "./session-loss.js";

export type { WaitOptions };

export interface ConnectOptions extends WaitOptions {
  /** The program names this server, or a user has logged in: earlier attempts do not count. @default false */
  isRequested?: boolean | undefined;
}

export class ServerConnection {
  readonly config: ServerConfig;
  readonly usage = new Usage();
  /** The connection that took the place of this one. Calls that have not been sent yet use it. */
  replacement: ServerConnection | undefined;
  readonly #parts: ConnectionParts;
  readonly #budget: RestartBudget;
  readonly #closing = new ClosingSessions();
  #state: ConnectionState = { status: "idle" };
  #opening: Promise<Session> | undefined;
  /** The callers that `#opening` was begun for: it ends with the last of them. Undefined for a reconnect, which does not depend on callers. */
  #openingWaiters: number | undefined;
  /** Ends `#opening`. */
  #openingAbort = new AbortController();
  /** The last negotiated era, reused when the same process restarts. */
  lastEra: Established["era"];
  readonly #reconnectWait = new ReconnectWait();
  /** All callers that wait, also for an earlier attempt. */
  #waiters = 0;
  /** The session that is being pinged, so that there is one ping at a time. */
  #pinged: Session | undefined;

  /** @param rested set if an earlier connection of the same user was closed for idleness, with its era */
  constructor(config: ServerConfig, parts: ConnectionParts, rested?: { lastEra: Established["era"] }) {
    this.config = config;
    this.#parts = parts;
    this.#budget = new RestartBudget(config);
    this.lastEra = rested?.lastEra;
    if (rested !== undefined) this.#state = { status: "closed", by: "idleness" };
    if (!config.enabled) this.#state = { status: "closed", by: "configuration" };
  }

  get name(): string {
    return this.config.name;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Undefined unless the connection is ready. */
  get session(): Session | undefined {
    return this.#state.status === "ready" ? this.#state.session : undefined;
  }

  /** This connection, or the one that has replaced it. */
  get current(): ServerConnection {
    return this.replacement === undefined ? this : this.replacement.current;
  }

  /** Connects the server, if its budget of attempts allows it. Concurrent callers share one attempt. */
  connect(options: ConnectOptions = {}): Promise<Session> {
    if (!this.config.enabled) return Promise.reject(serverDown(this.config));
    if (this.config.blocked !== undefined) return Promise.reject(serverBlocked(this.config));
    if (this.#state.status === "ready") return Promise.resolve(this.#state.session);
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    if (options.isRequested) this.#budget.reset();
    this.#reconnectWait.end();
    if (this.#opening === undefined) {
      const refusal = this.#refusal(options);
      if (refusal !== undefined) return Promise.reject(refusal);
      const isRetry = this.#hasFailed() && !options.isRequested;
      this.#begin((signal) => this.#openOnce(isRetry, signal), 0);
    }
    return this.#wait(options);
  }

  /** A session for a call: at once if the connection is ready, otherwise as soon as it is. */
  async acquire(options: WaitOptions & { patient?: boolean | undefined } = {}): Promise<Session> {
    if (options.patient === false) this.#refuseToWait();
    switch (this.#state.status) {
      case "ready":
        return this.#state.session;
      case "authenticating":
        return this.#tryNewCredentials(this.#state.error, options);
      case "closed":
        if (this.#state.by !== "idleness") throw serverDown(this.config);
        return this.current.connect(options);
      case "idle":
        return this.current.connect(options);
      case "failed":
        return this.connect(options);
      default:
        this.#reconnectWait.needed();
        return this.#wait(options);
    }
  }

  async #tryNewCredentials(error: ToolportError, options: WaitOptions): Promise<Session> {
    if (await this.#parts.hasNewCredentials?.(this.name))
      return this.connect({ ...options, isRequested: true });
    throw error;
  }

  /** For a call that has a fallback server left: throws if the server is lost, and starts to reconnect it. */
  #refuseToWait(): void {
    const isComingBack = this.#opening !== undefined && this.#openingWaiters === undefined;
    if (!isComingBack && !this.#hasFailed()) return;
    const error = errorOf(this.#state) ?? this.#budget.last;
    if (this.#opening === undefined && this.#refusal() === undefined)
      this.#begin((signal) => this.#openOnce(true, signal));
    throw serverAway(this.name, error);
  }

  /** Why a failed server is not connected again. A program that names the server may always connect it. */
  #refusal({ isRequested = false }: ConnectOptions = {}): ToolportError | undefined {
    if (isRequested || !this.#hasFailed()) return undefined;
    return this.config.reconnect.enabled ? this.#budget.limit() : this.#budget.last;
  }

  /** Also if the last caller of a further attempt has given it up. */
  #hasFailed(): boolean {
    const { status } = this.#state;
    return (status === "failed" || status === "idle") && this.#budget.last !== undefined;
  }

  /** Replaces a session that cannot be used any more. Concurrent callers may report the same session. */
  renew(session: Session, error: ToolportError): void {
    if (this.#state.status !== "ready" || this.#state.session !== session) return;
    this.#closing.retire(session);
    this.#budget.lost(performance.now() - this.#state.since, error);
    const stop = this.#stopAfter(error);
    if (stop !== undefined) return this.#giveUp(stop.error, stop.reason);
    this.#begin((signal) => this.#reconnect(error, signal));
  }

  /** Why a lost server is not connected again in the background; undefined if it is. */
  #stopAfter(error: ToolportError): { readonly reason: string; readonly error: ToolportError } | undefined {
    if (error instanceof AuthError) return { reason: "authorization is needed", error };
    if (!this.config.reconnect.enabled) return { reason: "it was lost and may not be restarted", error };
    return this.#budget.stop();
  }

  /** The server refused the remembered era: forgets it, and opens a new session. */
  async renegotiate(session: Session, error: ToolportError): Promise<void> {
    if (session !== this.session) return;
    this.lastEra = undefined;
    await this.#parts.eras.forget(this.config);
    this.renew(session, error);
  }

  /** Pings the server, and replaces its session if the server stays silent. One check at a time. */
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

  /** New calls wait while calls under way continue. After the last of them, the process is replaced. */
  async #replaceSilent(ready: ReadyState, loss: ToolportError, signal: AbortSignal): Promise<Session> {
    const { session } = ready;
    const attempt = this.#budget.count + 1;
    this.#move({ status: "reconnecting", attempt, retryAt: Date.now(), error: loss }, "it does not answer");
    const release = this.#closing.hold(session);
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
    this.#budget.lost(performance.now() - ready.since, loss);
    const stop = this.#stopAfter(loss);
    if (stop === undefined) return this.#reconnect(loss, signal);
    this.#giveUp(stop.error, stop.reason);
    throw stop.error;
  }

  /** Closes the connection. It stays closed until the program connects it (`request`), or until the next call (`idleness`). */
  async disconnect(by: "request" | "idleness" = "request"): Promise<void> {
    if (this.#state.status !== "closed") {
      const reason = by === "request" ? "disconnected on request" : "closed for idleness";
      this.#stop({ status: "closed", by }, reason);
    } else if (this.#state.by === "idleness" && by === "request") {
      this.#state = { status: "closed", by };
    }
    await this.#closing.closeAll();
  }

  /** Closes after the last call under way, because another connection has replaced this one. */
  async retire(): Promise<void> {
    if (this.#state.status !== "ready") return this.disconnect();
    this.#closing.retire(this.#state.session);
    this.#move({ status: "closed", by: "request" }, "replaced by a new connection");
    await this.#closing.settled();
  }

  /** Closes the session, and aborts an attempt to connect. */
  #stop(next: ConnectionState, reason: string): void {
    const state = this.#state;
    const session = "session" in state ? state.session : undefined;
    this.#budget.closed(state.status === "ready" ? performance.now() - state.since : 0);
    this.#move(next, reason);
    this.#openingAbort.abort(serverDown(this.config));
    // The attempt may take a while to end; new callers must not wait for it.
    this.#opening = undefined;
    if (session !== undefined) this.#closing.track(session.close());
  }

  #begin(open: (signal: AbortSignal) => Promise<Session>, waiters?: number): void {
    this.#openingWaiters = waiters;
    this.#openingAbort = new AbortController();
    const opening = open(this.#openingAbort.signal);
    this.#opening = opening;
    const done = () => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    opening.then(done, done);
  }

  /** Waits for the current attempt, within the limits of the caller. */
  #wait({ signal, timeoutMs }: WaitOptions): Promise<Session> {
    const opening = this.#opening ?? Promise.reject(serverDown(this.config));
    if (this.#openingWaiters !== undefined) this.#openingWaiters += 1;
    this.#waiters += 1;
    const leave = () => {
      this.#waiters -= 1;
      if (this.#opening !== opening || this.#openingWaiters === undefined) return;
      this.#openingWaiters -= 1;
      // After a timeout the caller may ask again. After an abort by the last caller, the attempt is stopped.
      if (signal?.aborted && this.#openingWaiters === 0)
        this.#stop({ status: "idle" }, "no caller waits for it any more");
    };
    return withDeadline(opening, {
      signal,
      timeoutMs,
      onTimeout: () => {
        // During a further attempt, the cause of the loss is the previous error.
        const cause = errorOf(this.#state) ?? this.#budget.last;
        return notReady(this.config, { timeoutMs, status: this.#state.status, cause });
      },
    }).finally(leave);
  }

  async #openOnce(isRetry: boolean, signal: AbortSignal): Promise<Session> {
    try {
      return await this.#open(isRetry, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = toToolportError(error, { server: this.name, phase: "connect" });
      this.#budget.failed(failure);
      this.#giveUp(failure, "connecting failed");
      throw failure;
    }
  }

  async #reconnect(lost: ToolportError, signal: AbortSignal): Promise<Session> {
    let error = lost;
    for (;;) {
      const attempt = this.#budget.count + 1;
      const waits = reconnectWaits(attempt, this.config.reconnect);
      const retryAt = Date.now() + waits.backgroundMs;
      this.#move({ status: "reconnecting", attempt, retryAt, error }, "the connection was lost");
      const waiting = this.#reconnectWait.start(waits, signal);
      // Callers that already waited before this attempt count as well.
      if (this.#waiters > 0) this.#reconnectWait.needed();
      await waiting;
      try {
        return await this.#open(true, signal);
      } catch (failure) {
        if (signal.aborted) throw signal.reason;
        error = toToolportError(failure, { server: this.name, phase: "connect" });
        this.#budget.failed(error);
        const stop = this.#budget.stop();
        if (stop !== undefined) {
          this.#giveUp(stop.error, stop.reason);
          throw stop.error;
        }
      }
    }
  }

  /** @param isRetry it follows a loss or a failure, and counts */
  async #open(isRetry: boolean, signal: AbortSignal): Promise<Session> {
    const attempt = isRetry ? this.#budget.take() : this.#budget.begin();
    let startsAgain = false;
    this.#move({ status: "connecting", attempt }, attempt === 1 ? "connecting" : `attempt ${attempt}`);
    const established = await establish({
      config: this.config,
      parts: this.#parts,
      lastEra: this.lastEra,
      signal,
      onConnected: (session) => {
        this.#move({ status: "connected", session }, "handshake done");
        this.#move({ status: "discovering", session }, "reading its lists");
      },
      mayStartAgain: () => {
        startsAgain = this.#budget.limit() === undefined;
        if (startsAgain) this.#budget.take();
        return startsAgain || !isRetry;
      },
      onDiscarded: (closing) => this.#closing.track(closing),
    });
    // The server exits at an unknown request: that was no failure.
    if (startsAgain) this.#budget.giveBack();
    const { session } = established;
    this.lastEra = established.era;
    if (signal.aborted) {
      this.#closing.track(session.close());
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
    this.#move(stateAfter(error), reason, error);
  }

  #move(next: ConnectionState, reason: string, error: ToolportError | undefined = errorOf(next)): void {
    const from = this.#state.status;
    // A late step of an aborted attempt must not change the state.
    if (!TRANSITIONS[from].includes(next.status)) return;
    this.#state = next;
    const change: StateChange = { server: this.name, from, to: next.status, reason, error };
    this.#parts.onState(change);
  }
}

class ClosingSessions {
  readonly #closings = new Set<Promise<void>>();
  readonly #sessions = new Set<Session>();

  /** `closeAll()` waits for this promise. */
  track(closing: Promise<void>): void {
    const tracked: Promise<void> = closing
      .catch(() => {})
      .finally(() => {
        this.#closings.delete(tracked);
      });
    this.#closings.add(tracked);
  }

  /** Closes a lost session after its last request: other calls may still receive their responses on it. */
  retire(session: Session): void {
    this.track(session.retire().finally(this.hold(session)));
  }

  /** Registers a session that `closeAll()` closes, until the returned function is called. */
  hold(session: Session): () => void {
    this.#sessions.add(session);
    return () => void this.#sessions.delete(session);
  }

  /** Waits until all have closed. */
  async settled(): Promise<void> {
    await Promise.all(this.#closings);
  }

  /** Closes everything at once, and waits for it. */
  async closeAll(): Promise<void> {
    for (const session of this.#sessions) this.track(session.close());
    await this.settled();
  }
}

/** Whether a connection is in use, and how long it has been idle. */
class Usage {
  #users = 0;
  #idleSince = 0;

  /** 0 while the connection is in use. */
  get idleMs(): number {
    return this.#users === 0 ? performance.now() - this.#idleSince : 0;
  }

  /** Marks the connection as used until `end()` is called. */
  begin(): void {
    this.#users += 1;
  }

  /** Restarts the idle time. */
  end(): void {
    this.#users -= 1;
    this.#idleSince = performance.now();
  }

  /** Restarts the idle time. */
  touch(): void {
    this.#idleSince = performance.now();
  }
}

interface RunOptions {
  /** The operation may run twice: reads, and idempotent calls. */
  repeatable: boolean;
  /** How often the request may be sent again. @default no limit */
  resends?: Resends | undefined;
  /** How long to wait for a server that is reconnecting. */
  waitMs: number;
  /** False to fail at once if the server is reconnecting, because a fallback server is left. @default true */
  patient?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

const CLOSING_MS = 500;

/**
 * Runs `operation`. If the session is lost, opens a new one (shared by all waiting callers) and runs the operation again,
 * provided that the server cannot have run it, or that it may run twice.
 */
export async function runOnSession<Result>(
  owner: ServerConnection,
  operation: (session: Session) => Promise<Result>,
  options: RunOptions,
): Promise<Result> {
  // An idle connection may have been replaced since the caller got it.
  const connection = owner.current;
  const { waitMs, signal, patient } = options;
  const deadline = performance.now() + waitMs;
  const acquire = () =>
    connection.acquire({ signal, patient, timeoutMs: Math.max(0, deadline - performance.now()) });
  connection.usage.begin();
  try {
    const session = connection.session ?? (await acquire());
    try {
      return await operation(session);
    } catch (error) {
      // After an abort, the caller gets the reason of its own signal.
      if (signal?.aborted) throw error;
      const failure = error as ToolportError;
      await recover(connection, failure, session, options);
      try {
        return await operation(await acquire());
      } catch (later) {
        // The first run may have had an effect, whatever the second one says.
        throw failure.outcome === "unsent" ? later : afterUnknown(later);
      }
    }
  } catch (failure) {
    // Errors about invalid responses are created above the transport, so they are redacted here.
    throw secretsOf(connection.config).redactError(failure);
  } finally {
    connection.usage.end();
  }
}

/** Throws the error, unless the operation may run once more on another session. */
async function recover(
  connection: ServerConnection,
  failure: ToolportError,
  session: Session,
  options: RunOptions,
): Promise<void> {
  // The transport closes slightly before the session does, and only the session knows the cause: wait for it briefly.
  if (isClosing(failure)) await Promise.race([session.closed, pause(CLOSING_MS)]);
  const isOtherEra = session.unproven && isRefusedEra(failure);
  if (isOtherEra) await connection.renegotiate(session, failure);
  else if (isLost(failure, session)) connection.renew(session, failure);
  const isSafe = failure.outcome === "unsent" || options.repeatable;
  const isWorthIt = isSafe && (isOtherEra || isConnectionFailure(failure, session));
  const { resends } = options;
  const take = () => (isSessionLost(failure, session) ? resends?.takeRecovery() : resends?.take());
  if (!isWorthIt || take() === false) throw retryableIfLost(failure, session);
}
