/** A subscription to a modern server that is reopened after a loss and after a change of its filter. The SDK only opens one. */
import type { Client, McpSubscription, SubscriptionFilter } from "@modelcontextprotocol/client";
import { fullJitterMs } from "../util/backoff.js";
import { pause } from "../util/sleep.js";

/** Changes of lists, and single resources. */
export type ListenFilter = SubscriptionFilter;

const METHOD_NOT_FOUND = -32601;
const ACKNOWLEDGE_MS = 15_000;
/** Lists that are requested after the acknowledgement contain every earlier change. Beyond this time, they do not wait for it. */
export const LISTEN_FIRST_MS = 500;
/** A subscription that stayed open this long resets the backoff. */
const STABLE_AFTER_MS = 30_000;

export interface ServerSubscriptionParts {
  /** The SDK's client; called whenever a subscription is opened. */
  client: () => Promise<Client>;
  /** The filter that is currently needed. */
  filter: () => ListenFilter;
  /** A subscription is open. If it replaces one that was still open, no change was missed. */
  onOpen: (honored: ListenFilter) => void;
  /** No subscription is open any more. */
  onLost: () => void;
  /** Called when the subscription is open again after a loss: changes may have been missed. */
  onGap: (filter: ListenFilter) => void;
}

export class ServerSubscription {
  readonly #parts: ServerSubscriptionParts;
  readonly #ended = new AbortController();
  /** Callers that wait until the server accepts a filter. */
  #waiting: { resolve: (honored: ListenFilter) => void; reject: (error: unknown) => void }[] = [];
  #running = false;
  /** Wakes the loop when the filter changes. */
  #wake: (() => void) | undefined;
  #changed = false;
  #lastError: unknown;
  /** Called when the server has acknowledged the subscription, has refused it, or takes long. */
  #onAttempted: (() => void) | undefined;

  constructor(parts: ServerSubscriptionParts) {
    this.#parts = parts;
  }

  /** The error of the last attempt, while there is no subscription. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Opens the subscription unless the filter is empty. Never throws. */
  start(): void {
    if (this.#running || this.#ended.signal.aborted || isEmpty(this.#parts.filter())) return;
    this.#running = true;
    this.#run()
      .catch((error: unknown) => this.#rejectWaiting(error))
      .finally(() => {
        this.#running = false;
        this.#onAttempted?.();
        // A caller may have registered while the loop ended.
        if (this.#waiting.length > 0) this.start();
      });
  }

  /**
   * Applies a larger filter. Resolves when the server has accepted or refused it, the attempt has failed, or the server takes
   * long. Never rejects.
   */
  async begin(): Promise<void> {
    if (this.#ended.signal.aborted || isEmpty(this.#parts.filter())) return;
    const attempted = new Promise<void>((resolve) => {
      this.#onAttempted = resolve;
    });
    await Promise.race([this.update().catch(() => {}), attempted]);
    this.#onAttempted = undefined;
  }

  /** Applies a larger filter. Resolves with the part that the server accepts. */
  update(): Promise<ListenFilter> {
    const granted = new Promise<ListenFilter>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.narrow();
    this.start();
    return granted;
  }

  /** Applies a smaller filter. */
  narrow(): void {
    this.#changed = true;
    this.#wake?.();
  }

  close(): void {
    this.#ended.abort();
    this.#rejectWaiting(new Error("The connection is closed"));
  }

  async #run(): Promise<void> {
    const { client, filter, onOpen, onLost, onGap } = this.#parts;
    let current: McpSubscription | undefined;
    /** Whether changes may have been missed. */
    let gap = false;
    for (let attempt = 1; !this.#ended.signal.aborted; attempt += 1) {
      this.#changed = false;
      const wanted = filter();
      if (isEmpty(wanted)) {
        onLost();
        return void (await current?.close());
      }
      try {
        const joined = await client();
        const isLate = setTimeout(() => this.#onAttempted?.(), LISTEN_FIRST_MS);
        const next = await joined
          .listen(wanted, { signal: this.#ended.signal, timeout: ACKNOWLEDGE_MS })
          .finally(() => clearTimeout(isLate));
        // The old subscription is closed after the new one is open, so that no change is missed.
        if (current !== undefined && (await isOver(current))) {
          gap = true;
          onLost();
        }
        onOpen(next.honoredFilter);
        this.#onAttempted?.();
        await current?.close();
        current = next;
      } catch (error) {
        this.#lastError = error;
        this.#onAttempted?.();
        // An error response is final: the server would reject the same filter again.
        if (typeof (error as { code?: unknown }).code === "number") this.#rejectWaiting(error);
        if (current !== undefined && (await isOver(current))) {
          gap = true;
          onLost();
          current = undefined;
        }
        // A server that has accepted a subscription supports them: it only rejects this filter.
        const isUnsupported = (error as { code?: unknown } | undefined)?.code === METHOD_NOT_FOUND;
        if (isUnsupported && current === undefined) return;
        await this.#pause(attempt);
        continue;
      }
      const openedAt = performance.now();
      this.#lastError = undefined;
      if (!this.#changed) this.#resolveWaiting(current.honoredFilter);
      // Report the gap only now: a change between an earlier reading and this point would be missed for good.
      if (gap) onGap(wanted);
      gap = false;
      const end = await this.#end(current);
      if (end === "changed") {
        attempt = 0;
        continue;
      }
      if (end === "local") return;
      gap = true;
      onLost();
      current = undefined;
      if (performance.now() - openedAt > STABLE_AFTER_MS) attempt = 0;
      await this.#pause(attempt);
    }
  }

  /** Waits until the subscription ends or the filter changes. */
  async #end(subscription: McpSubscription): Promise<"changed" | "local" | "graceful" | "remote"> {
    if (this.#changed) return "changed";
    const changed = new Promise<"changed">((resolve) => {
      this.#wake = () => resolve("changed");
    });
    const end = await Promise.race([subscription.closed, changed]);
    this.#wake = undefined;
    return end;
  }

  /** Backs off with full jitter: a restarting server drops the subscriptions of all clients. A changed filter ends the wait. */
  async #pause(attempt: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([pause(fullJitterMs(attempt), this.#ended.signal), woken]);
    this.#wake = undefined;
  }

  #resolveWaiting(honored: ListenFilter): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(honored);
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Whether the server has already ended the subscription. */
const isOver = (subscription: McpSubscription): Promise<boolean> =>
  Promise.race([subscription.closed.then(() => true), Promise.resolve().then(() => false)]);

const isEmpty = ({ resourceSubscriptions = [], ...lists }: ListenFilter): boolean =>
  resourceSubscriptions.length === 0 && !Object.values(lists).some(Boolean);
