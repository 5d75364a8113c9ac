/** Resources that the page subscribed to, with the number and time of their updates. */
import type { Toolport } from "../toolport.js";
import type { SubscriptionView } from "./console-api.js";

const MAX_WATCHED = 100;

interface Watched {
  view: SubscriptionView;
  readonly stop: () => Promise<void>;
}

export class WatchedResources {
  readonly #toolport: Toolport;
  readonly #onChange: () => void;
  readonly #watched = new Map<string, Watched>();

  /** @param onChange called after every update */
  constructor(toolport: Toolport, onChange: () => void) {
    this.#toolport = toolport;
    this.#onChange = onChange;
  }

  list(): SubscriptionView[] {
    return [...this.#watched.values()].map(({ view }) => view);
  }

  async add(server: string, uri: string, signal: AbortSignal): Promise<void> {
    const key = `${server}\n${uri}`;
    if (this.#watched.has(key) || this.#watched.size >= MAX_WATCHED) return;
    const stop = await this.#toolport.subscribe(server, uri, () => this.#update(key), { signal });
    this.#watched.set(key, { view: { server, uri, updates: 0, updatedAt: null }, stop });
    this.#onChange();
  }

  async remove(server: string, uri: string): Promise<void> {
    const key = `${server}\n${uri}`;
    const watched = this.#watched.get(key);
    this.#watched.delete(key);
    this.#onChange();
    await watched?.stop();
  }

  async close(): Promise<void> {
    const all = [...this.#watched.values()];
    this.#watched.clear();
    await Promise.all(all.map(({ stop }) => stop().catch(() => {})));
  }

  #update(key: string): void {
    const watched = this.#watched.get(key);
    if (watched === undefined) return;
    watched.view = { ...watched.view, updates: watched.view.updates + 1, updatedAt: Date.now() };
    this.#onChange();
  }
}
