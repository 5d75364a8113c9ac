/** Sends what happens to every open page, one JSON value a line, and never faster than a page can read. */
import type { ServerResponse } from "node:http";
import { TokenBucket } from "../util/token-bucket.js";
import type { ConsoleEvent } from "./console-api.js";

const MAX_PAGES = 16;
/** More than this waiting for one page, and it misses what comes next. */
const MAX_WAITING_BYTES = 1_000_000;
const PER_SECOND = 100;
const STATE_MS = 100;
const BEAT_MS = 15_000;
const MISSED_MS = 500;

export class EventFeed {
  readonly #pages = new Map<ServerResponse, { missed: number }>();
  readonly #bucket = new TokenBucket({ capacity: PER_SECOND, perSecond: PER_SECOND });
  readonly #state: () => ConsoleEvent;
  readonly #timers = new Set<NodeJS.Timeout>();
  #stateTimer: NodeJS.Timeout | undefined;

  /** @param state the state of this moment */
  constructor(state: () => ConsoleEvent) {
    this.#state = state;
    const every = (ms: number, run: () => void) => this.#timers.add(setInterval(run, ms).unref());
    every(BEAT_MS, () => this.#send({ type: "beat" }));
    every(MISSED_MS, () => this.#tellMissed());
  }

  /** False if there are too many pages already. */
  add(response: ServerResponse, hello: ConsoleEvent): boolean {
    if (this.#pages.size >= MAX_PAGES) return false;
    this.#pages.set(response, { missed: 0 });
    response.once("close", () => this.#pages.delete(response));
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" });
    for (const event of [hello, this.#state()]) response.write(toLine(event));
    return true;
  }

  /** Something that happened once. */
  tell(event: ConsoleEvent): void {
    if (this.#pages.size === 0) return;
    if (this.#bucket.take(1)) return this.#send(event);
    for (const page of this.#pages.values()) page.missed++;
  }

  /** The state is another: told soon, and once for all that changes until then. */
  stateChanged(): void {
    if (this.#pages.size === 0 || this.#stateTimer !== undefined) return;
    this.#stateTimer = setTimeout(() => {
      this.#stateTimer = undefined;
      this.#send(this.#state());
    }, STATE_MS).unref();
  }

  close(): void {
    clearTimeout(this.#stateTimer);
    for (const timer of this.#timers) clearInterval(timer);
    for (const response of this.#pages.keys()) response.end();
    this.#pages.clear();
  }

  #send(event: ConsoleEvent): void {
    if (this.#pages.size === 0) return;
    const line = toLine(event);
    for (const [response, page] of this.#pages) {
      if (response.writableLength > MAX_WAITING_BYTES) page.missed++;
      else response.write(line);
    }
  }

  #tellMissed(): void {
    for (const [response, page] of this.#pages) {
      if (page.missed === 0 || response.writableLength > MAX_WAITING_BYTES) continue;
      response.write(toLine({ type: "missed", count: page.missed }));
      response.write(toLine(this.#state()));
      page.missed = 0;
    }
  }
}

const toLine = (event: ConsoleEvent): string => `${JSON.stringify(event)}\n`;
