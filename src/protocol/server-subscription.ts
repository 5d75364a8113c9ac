/** One subscription of the modern era, kept open and in line with what is wanted; the SDK opens it once and forgets it. */
import type { Client, McpSubscription, SubscriptionFilter } from "@modelcontextprotocol/client";
import { fullJitterMs } from "../util/backoff.js";
import { pause } from "../util/sleep.js";

/** What may be subscribed to: changes of lists, and single resources. */
export type ListenFilter = SubscriptionFilter;

const METHOD_NOT_FOUND = -32601;
const ACKNOWLEDGE_MS = 15_000;
/** A subscription that held this long was a good one: the next attempt does not wait for what failed before it. */
const GOOD_AFTER_MS = 30_000;

export interface ListeningParts {
  /** The SDK's client; asked for whenever a subscription is opened. */
  client: () => Promise<Client>;
  /** What is wanted at this moment. */
  filter: () => ListenFilter;
  /** The subscription was gone and is open again: what happened meanwhile is unknown. */
  onGap: (filter: ListenFilter) => void;
}

/** Somebody who waits for a filter to hold. */
interface Waiting {
  resolve: (honored: ListenFilter) => void;
  reject: (error: unknown) => void;
}

export class Listening {
  readonly #parts: ListeningParts;
  readonly #ended = new AbortController();
  #waiting: Waiting[] = [];
  #running = false;
  /** Wakes the loop when something else is wanted. */
  #wake: (() => void) | undefined;
  #changed = false;
  #lastError: unknown;
  /** Somebody waits until the server has been asked for the subscription. */
  #onAsked: (() => void) | undefined;

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  /** Why the last attempt failed, while there is no subscription. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Opens the subscription if anything is wanted. Never throws. */
  start(): void {
    if (this.#running || this.#ended.signal.aborted || isEmpty(this.#parts.filter())) return;
    this.#running = true;
    this.#run()
      .catch((error: unknown) => this.#refuse(error))
      .finally(() => {
        this.#running = false;
        this.#onAsked?.();
        // Asked for in the moment in which the loop came to its end.
        if (this.#waiting.length > 0) this.start();
      });
  }

  /**
   * As {@link start}; resolves when the server has been asked for it, or cannot be. What is read from then on is not out of
   * date without our being told.
   */
  async begin(): Promise<void> {
    const asked = new Promise<void>((resolve) => {
      this.#onAsked = resolve;
    });
    this.start();
    if (this.#running) await asked;
    this.#onAsked = undefined;
  }

  /** Something else is wanted: resolves with what the server grants of it. */
  update(): Promise<ListenFilter> {
    const granted = new Promise<ListenFilter>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#changed = true;
    this.#wake?.();
    this.start();
    return granted;
  }

  /** Something is not wanted any more. */
  narrow(): void {
    this.#changed = true;
    this.#wake?.();
  }

  close(): void {
    this.#ended.abort();
    this.#refuse(new Error("The connection is closed"));
  }

  async #run(): Promise<void> {
    const { client, filter, onGap } = this.#parts;
    let current: McpSubscription | undefined;
    /** Whether nobody listened for a while. */
    let gap = false;
    for (let attempt = 1; !this.#ended.signal.aborted; attempt += 1) {
      this.#changed = false;
      const wanted = filter();
      if (isEmpty(wanted)) return void (await current?.close());
      try {
        const opening = (await client()).listen(wanted, {
          signal: this.#ended.signal,
          timeout: ACKNOWLEDGE_MS,
        });
        // The SDK's client takes a few steps before it sends anything.
        setTimeout(() => this.#onAsked?.());
        const next = await opening;
        // The new one is open before the old one ends, so that nothing falls between the two.
        if (current !== undefined && (await isOver(current))) gap = true;
        await current?.close();
        current = next;
      } catch (error) {
        this.#lastError = error;
        this.#onAsked?.();
        // What the server itself refuses it will refuse again; whoever asked for it has to take it back.
        if (typeof (error as { code?: unknown }).code === "number") this.#refuse(error);
        if ((error as { code?: unknown } | undefined)?.code === METHOD_NOT_FOUND) return;
        await this.#pause(attempt);
        continue;
      }
      const openedAt = performance.now();
      this.#lastError = undefined;
      if (!this.#changed) this.#grant(current.honoredFilter);
      // Not before somebody listens again: a change after a reading and before that would be missed for good.
      if (gap) onGap(wanted);
      gap = false;
      const end = await this.#end(current);
      if (end === "changed") {
        attempt = 0;
        continue;
      }
      if (end === "local") return;
      gap = true;
      current = undefined;
      if (performance.now() - openedAt > GOOD_AFTER_MS) attempt = 0;
      await this.#pause(attempt);
    }
  }

  /** Until the subscription is over, or something else is wanted. */
  async #end(subscription: McpSubscription): Promise<"changed" | "local" | "graceful" | "remote"> {
    if (this.#changed) return "changed";
    const changed = new Promise<"changed">((resolve) => {
      this.#wake = () => resolve("changed");
    });
    const end = await Promise.race([subscription.closed, changed]);
    this.#wake = undefined;
    return end;
  }

  /** Waits before the next attempt, with full jitter: a restart drops the subscriptions of all clients. A changed filter ends the wait. */
  async #pause(attempt: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([pause(fullJitterMs(attempt), this.#ended.signal), woken]);
    this.#wake = undefined;
  }

  #grant(honored: ListenFilter): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(honored);
  }

  #refuse(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Whether the server has ended it already. */
const isOver = (subscription: McpSubscription): Promise<boolean> =>
  Promise.race([subscription.closed.then(() => true), Promise.resolve().then(() => false)]);

const isEmpty = ({ resourceSubscriptions = [], ...lists }: ListenFilter): boolean =>
  resourceSubscriptions.length === 0 && !Object.values(lists).some(Boolean);
