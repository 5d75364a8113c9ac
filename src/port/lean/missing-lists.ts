/** Lists of failed servers, which are tried again while a client listens. */
import type { ListKey } from "../../catalog/server-lists.js";
import { fullJitterMs } from "../../util/backoff.js";
import { unrefTimer } from "../../util/timers.js";

/** Bounds of the pause between attempts, on top of `restMs`. */
const RETRY = { baseMs: 2_000, maxMs: 30_000 };

interface MissingListsParts {
  /** A server is not tried again before this time. */
  readonly restMs: number;
  /** Resolves with whether the list was read. Undefined if it is known. */
  read(server: string, key: ListKey): Promise<boolean> | undefined;
  onRead(server: string, key: ListKey): void;
}

export class MissingLists {
  readonly #parts: MissingListsParts;
  readonly #missing = new Map<string, { readonly server: string; readonly key: ListKey }>();
  #retries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: MissingListsParts) {
    this.#parts = parts;
  }

  /** The list is tried again later. */
  add(server: string, key: ListKey): void {
    this.#missing.set(`${key} ${server}`, { server, key });
    if (this.#timer !== undefined) return;
    this.#retries += 1;
    const waitMs = this.#parts.restMs + fullJitterMs(this.#retries, RETRY);
    this.#timer = unrefTimer(setTimeout(() => this.#tryAgain(), waitMs));
  }

  delete(server: string, key: ListKey): void {
    this.#missing.delete(`${key} ${server}`);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #tryAgain(): void {
    this.#timer = undefined;
    const missing = [...this.#missing.values()];
    this.#missing.clear();
    for (const { server, key } of missing)
      void this.#parts.read(server, key)?.then((isRead) => {
        if (!isRead) return;
        this.#retries = 0;
        this.#parts.onRead(server, key);
      });
  }
}
