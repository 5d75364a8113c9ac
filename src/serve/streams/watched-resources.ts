/** The resources that one stream watches. */
import { locateResource, refusalOfRead } from "../calls/check-read.js";
import type { GatewayClient } from "../client.js";
import { resourceNames } from "../lists/list-entries.js";
import type { ResourceTarget } from "../lists/resource-names.js";
import type { GatewayParts } from "../request-context.js";
import type { GatewayUser } from "../users.js";

/** A resource that the client has asked for. */
interface Watch {
  /** Undefined if the resource does not exist. */
  readonly target?: ResourceTarget | undefined;
  /** The policy does not let the client read the resource. The server has no subscription. */
  readonly isRefused?: boolean | undefined;
  /** Ends the subscription. Undefined if there is none. */
  readonly stop?: (() => Promise<void>) | undefined;
}

const REFUSED: Watch = { isRefused: true };

/** What a stream does with its resources. */
interface WatchOptions {
  readonly parts: Pick<GatewayParts, "policy" | "readsUris">;
  /** As its credential is now. */
  readonly client: () => Pick<GatewayClient, "principal" | "scopes">;
  /** Receives the URI that the client sees. */
  readonly onUpdate: (uri: string) => void;
}

/** Subscribes to resources by the URIs that clients see. */
export class WatchedResources {
  readonly #user: Pick<GatewayUser, "port">;
  readonly #options: WatchOptions;
  readonly #watches = new Map<string, Promise<Watch>>();

  constructor(user: Pick<GatewayUser, "port">, options: WatchOptions) {
    this.#user = user;
    this.#options = options;
  }

  /** Watches exactly these resources. Resolves with those that the policy and the servers grant; never rejects. */
  async set(uris: readonly string[], signal?: AbortSignal): Promise<string[]> {
    const wanted = new Set(uris);
    for (const [uri, watch] of this.#watches)
      if (!wanted.has(uri)) {
        this.#watches.delete(uri);
        end(watch);
      }
    const granted = await Promise.all(
      [...wanted].map(async (uri) => {
        let watch = this.#watches.get(uri);
        if (watch === undefined) {
          watch = this.#watch(uri, signal);
          this.#watches.set(uri, watch);
        }
        return (await watch).stop === undefined ? [] : [uri];
      }),
    );
    return granted.flat();
  }

  /** The rules have changed: ends what the client may not read any more, and begins what it may read now. */
  recheck(): void {
    for (const [uri, before] of this.#watches) this.#watches.set(uri, this.#again(uri, before));
  }

  close(): void {
    for (const watch of this.#watches.values()) end(watch);
    this.#watches.clear();
  }

  async #again(uri: string, before: Promise<Watch>): Promise<Watch> {
    const known = await before;
    if (known.isRefused) return this.#watch(uri, undefined);
    const { target, stop } = known;
    if (target === undefined || stop === undefined || (await this.#mayRead(target))) return known;
    end(before);
    return REFUSED;
  }

  async #watch(uri: string, signal: AbortSignal | undefined): Promise<Watch> {
    const { parts, onUpdate } = this.#options;
    const { port } = this.#user;
    try {
      const wait = signal === undefined ? {} : { signal };
      const target = await locateResource({ user: this.#user, parts, facts: {} }, uri, wait);
      if (target === undefined) return {};
      if (!(await this.#mayRead(target))) return REFUSED;
      const { server, uri: source } = target;
      const names = await resourceNames(port, wait);
      const listener = async (update: { readonly uri: string }) => {
        // The update may be about a resource below this one, and rules may have changed.
        if (!(await this.#mayRead({ server, uri: update.uri }))) return;
        onUpdate(update.uri === source ? uri : names.toPublic(server, update.uri));
      };
      const stop = await port.subscriptions.add({ server, uri: source, listener }, { signal });
      return { target, stop };
    } catch {
      // The URI has two readings, or the server offers no subscription: the client is not promised any update.
      return {};
    }
  }

  /** Asks the policy as it is asked when the client reads the resource. */
  async #mayRead({ server, uri }: ResourceTarget): Promise<boolean> {
    const { parts, client } = this.#options;
    const read = { method: "resources/read", server, uri };
    return (await refusalOfRead({ parts, client: client(), facts: {} }, read)) === undefined;
  }
}

function end(watch: Promise<Watch>): void {
  void watch.then(({ stop }) => stop?.());
}
