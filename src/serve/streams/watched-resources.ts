/** The resources that one stream watches. */
import type { Port } from "../../port/port.js";
import { resourceNames } from "../lists/list-entries.js";

/** Subscribes to resources by the URIs that clients see. */
export class WatchedResources {
  readonly #port: Port;
  readonly #onUpdate: (uri: string) => void;
  readonly #ends = new Map<string, Promise<(() => Promise<void>) | undefined>>();

  /** @param onUpdate receives the URI that the client sees */
  constructor(port: Port, onUpdate: (uri: string) => void) {
    this.#port = port;
    this.#onUpdate = onUpdate;
  }

  /** Watches exactly these resources. Resolves with those that the servers grant; never rejects. */
  async set(uris: readonly string[], signal?: AbortSignal): Promise<string[]> {
    const wanted = new Set(uris);
    for (const [uri, end] of this.#ends)
      if (!wanted.has(uri)) {
        this.#ends.delete(uri);
        void end.then((stop) => stop?.());
      }
    const granted = await Promise.all(
      [...wanted].map(async (uri) => {
        let end = this.#ends.get(uri);
        if (end === undefined) {
          end = this.#watch(uri, signal);
          this.#ends.set(uri, end);
        }
        return (await end) === undefined ? [] : [uri];
      }),
    );
    return granted.flat();
  }

  close(): void {
    for (const end of this.#ends.values()) void end.then((stop) => stop?.());
    this.#ends.clear();
  }

  async #watch(uri: string, signal: AbortSignal | undefined): Promise<(() => Promise<void>) | undefined> {
    try {
      const names = await resourceNames(this.#port, { signal });
      const { server, uri: source } = names.resolve(uri);
      const listener = (update: { readonly uri: string }) =>
        this.#onUpdate(update.uri === source ? uri : names.toPublic(server, update.uri));
      return await this.#port.subscriptions.add({ server, uri: source, listener }, { signal });
    } catch {
      // The resource does not exist, or its server offers no subscription: the client is not promised any update.
      return undefined;
    }
  }
}
