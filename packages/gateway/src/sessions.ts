/** Sessions of legacy clients. Their ids are sealed, so that every replica can read them without the store. */

import { BoundedMap, type Fields, isLogLevel, isRecord, type LogLevel } from "@toolport/base";
import { capabilityKeyOf } from "./message.js";
import type { Seal } from "./replicas/seal.js";
import type { SharedNotes } from "./replicas/shared-notes.js";

/** What the id of a session says. */
export interface OpenedSession {
  /** Short and unique; not the id. */
  readonly key: string;
  readonly version: string;
  readonly capabilities: Fields;
  readonly capabilityKey: string;
}

/** What a client has changed in its session since. */
export interface SessionState {
  readonly isEnded?: boolean | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly subscriptions?: readonly string[] | undefined;
}

const PURPOSE = "session";
const LIFETIME_MS = 24 * 60 * 60 * 1_000;
const MAX_OPENED = 10_000;
/** Sessions of a connection of their own: other replicas never see them. */
const LOCAL = "local-";

interface CachedSession extends OpenedSession {
  readonly principal: string | undefined;
  readonly expiresAt: number;
}

export class Sessions {
  readonly #opened = new BoundedMap<string, CachedSession>(MAX_OPENED);
  readonly #local = new Map<string, SessionState>();
  readonly #listeners = new Set<(key: string) => void>();
  readonly #stop: () => void;

  constructor(
    private readonly seal: Seal,
    private readonly notes: SharedNotes,
  ) {
    this.#stop = notes.onChange((key) => this.#tell(key));
  }

  /** The id of a new session. */
  create(
    p: string | undefined,
    { version: v, capabilities: c }: Pick<OpenedSession, "version" | "capabilities">,
  ): string {
    return this.seal.seal(PURPOSE, { k: crypto.randomUUID(), p, v, c, exp: Date.now() + LIFETIME_MS });
  }

  /** The key of a session that only this process knows. */
  createLocal(): string {
    const key = `${LOCAL}${crypto.randomUUID()}`;
    this.#local.set(key, {});
    return key;
  }

  /** Reads the keys again for an id that a new key sealed. Undefined if there is nothing to wait for. */
  prepare(id: string): Promise<void> | undefined {
    if (this.#opened.has(id) || this.#read(id) !== undefined) return undefined;
    return this.seal.openFresh(PURPOSE, id).then(() => {});
  }

  /** Undefined for an id that was not made here for this user, has expired or was ended. */
  open(id: string, principal: string | undefined): OpenedSession | undefined {
    const session = this.#opened.get(id) ?? this.#read(id);
    if (session === undefined || session.principal !== principal) return undefined;
    if (session.expiresAt < Date.now() || this.stateOf(session.key).isEnded === true) return undefined;
    return session;
  }

  /** Ends a session: at once here, within two seconds on other replicas. */
  async end({ key }: OpenedSession): Promise<void> {
    await this.#set(key, { isEnded: true });
  }

  stateOf(key: string): SessionState {
    const state = key.startsWith(LOCAL) ? this.#local.get(key) : this.notes.get(key)?.value;
    return isRecord(state) ? readState(state) : {};
  }

  async update(key: string, change: SessionState): Promise<void> {
    await this.#set(key, { ...this.stateOf(key), ...change });
  }

  /** Calls the listener with the key of every changed session. */
  onChange(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  forgetLocal(key: string): void {
    this.#local.delete(key);
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  async #set(key: string, state: SessionState): Promise<void> {
    if (!key.startsWith(LOCAL)) return this.notes.set(key, state, LIFETIME_MS);
    this.#local.set(key, state);
    this.#tell(key);
  }

  #tell(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }

  #read(id: string): CachedSession | undefined {
    const opened = this.seal.open(PURPOSE, id);
    if (!isRecord(opened) || !isRecord(opened["c"])) return undefined;
    const session: CachedSession = {
      key: String(opened["k"]),
      principal: opened["p"] as string | undefined,
      version: String(opened["v"]),
      capabilities: opened["c"],
      capabilityKey: capabilityKeyOf(opened["c"]),
      expiresAt: Number(opened["exp"]),
    };
    this.#opened.set(id, session);
    return session;
  }
}

function readState({ isEnded, logLevel, subscriptions }: Fields): SessionState {
  return {
    isEnded: isEnded === true,
    logLevel: isLogLevel(logLevel) ? logLevel : undefined,
    subscriptions: Array.isArray(subscriptions)
      ? subscriptions.filter((uri) => typeof uri === "string")
      : undefined,
  };
}
