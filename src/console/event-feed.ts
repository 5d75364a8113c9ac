/** Sends events to every open page, one JSON value per line. Drops events that a page cannot receive in time. */
import type { ServerResponse } from "node:http";
import { TokenBucket } from "../util/token-bucket.js";
import type { ConsoleEvent, TrafficEntry } from "./console-api.js";

const MAX_PAGES = 16;
/** Maximum size of unsent data for one page. Further events are dropped. */
const MAX_WAITING_BYTES = 1_000_000;
const PER_SECOND = 100;
const STATE_MS = 100;
const BEAT_MS = 15_000;
const MISSED_MS = 500;
const TRAFFIC_MS = 200;
/** Maximum number of messages that one event carries. Of more, the newest are sent. */
const MAX_TRAFFIC = 200;

export class EventFeed {
  readonly #pages = new Map<ServerResponse, { missed: number }>();
  readonly #bucket = new TokenBucket({ capacity: PER_SECOND, perSecond: PER_SECOND });
  readonly #state: () => ConsoleEvent;
  readonly #timers = new Set<NodeJS.Timeout>();
  #stateTimer: NodeJS.Timeout | undefined;
  #trafficTimer: NodeJS.Timeout | undefined;
  #traffic: TrafficEntry[] = [];
  #skipped = 0;

  /** @param state returns the current state */
  constructor(state: () => ConsoleEvent) {
    this.#state = state;
    const every = (ms: number, run: () => void) => this.#timers.add(setInterval(run, ms).unref());
    every(BEAT_MS, () => this.#send({ type: "beat" }));
    every(MISSED_MS, () => this.#reportMissed());
  }

  get hasPages(): boolean {
    return this.#pages.size > 0;
  }

  /** Returns false if too many pages are open. */
  add(response: ServerResponse, hello: ConsoleEvent): boolean {
    if (this.#pages.size >= MAX_PAGES) return false;
    this.#pages.set(response, { missed: 0 });
    response.once("close", () => this.#pages.delete(response));
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" });
    for (const event of [hello, this.#state()]) response.write(toLine(event));
    return true;
  }

  /** Sends one event, limited in rate. */
  publish(event: ConsoleEvent): void {
    if (this.#pages.size === 0) return;
    if (this.#bucket.take(1)) return this.#send(event);
    for (const page of this.#pages.values()) page.missed++;
  }

  /** Sends the state soon, once for all changes until then. */
  stateChanged(): void {
    if (this.#pages.size === 0 || this.#stateTimer !== undefined) return;
    this.#stateTimer = setTimeout(() => {
      this.#stateTimer = undefined;
      this.#send(this.#state());
    }, STATE_MS).unref();
  }

  /** Sends messages in groups, because there may be thousands a second. */
  addTraffic(entry: TrafficEntry): void {
    if (this.#pages.size === 0) return;
    this.#traffic.push(entry);
    if (this.#traffic.length > MAX_TRAFFIC) {
      this.#traffic.shift();
      this.#skipped++;
    }
    this.#trafficTimer ??= setTimeout(() => {
      const event = { type: "traffic", entries: this.#traffic, skipped: this.#skipped } as const;
      [this.#trafficTimer, this.#traffic, this.#skipped] = [undefined, [], 0];
      this.#send(event);
    }, TRAFFIC_MS).unref();
  }

  close(): void {
    clearTimeout(this.#stateTimer);
    clearTimeout(this.#trafficTimer);
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

  #reportMissed(): void {
    for (const [response, page] of this.#pages) {
      if (page.missed === 0 || response.writableLength > MAX_WAITING_BYTES) continue;
      response.write(toLine({ type: "missed", count: page.missed }));
      response.write(toLine(this.#state()));
      page.missed = 0;
    }
  }
}

const toLine = (event: ConsoleEvent): string => `${JSON.stringify(event)}\n`;
