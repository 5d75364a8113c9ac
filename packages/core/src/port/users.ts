/** The users of one `createToolport`: the plain port, and a port for each principal. */

import { type Emitter, unrefTimer } from "@toolport/base";
import type { FilterSet } from "../catalog/catalog.js";
import type { ToolportEvents } from "./events.js";
import { Port } from "./port.js";
import type { ListsRead } from "./port-core.js";
import { type Principal, type PrincipalOptions, readPrincipal } from "./principal.js";
import type { SharedParts } from "./shared-parts.js";

/** Connections of users that are idle for this long are closed. */
const IDLE_MS = 60_000;
const LOOK_EVERY_MS = 15_000;

/**
 * A user is created on first use, rests while it is idle, and ends with its release. What is equal for many users is kept once: lists,
 * snapshots of the catalog and results of handshakes.
 */
export class Users {
  /** By name of the user. */
  readonly #ports = new Map<string, Port>();
  /** Stops watching the store. */
  readonly #watching: Promise<() => void> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** The port of the program itself. */
  readonly plain: Port;

  constructor(private readonly parts: SharedParts) {
    // Without a configured store, no other process can change records.
    if (parts.settings.isSaved)
      this.#watching = import("./watch-keys.js").then(({ watchRecords }) =>
        watchRecords(parts, (principal) => this.peek(principal)),
      );
    this.plain = this.#create();
  }

  /** Listens to events of all users. */
  readonly on: Emitter<ToolportEvents>["on"] = (event, listener) => this.parts.emitter.on(event, listener);

  /** The port of a user with the newest options of that user. Options that are not given stay. */
  as(name: string, options: PrincipalOptions): Port {
    const principal = readPrincipal(name, options);
    const port = this.#ports.get(name);
    if (port?.principal === undefined) return this.#create({ principal });
    const renewal = port.principal.update(options);
    if (renewal === "processes") port.pool.renew((config) => "env" in config);
    if (renewal !== "connections") return port;
    // The connections use the old provider, so they are closed. Headers and environment stay the same.
    this.#ports.delete(name);
    port.close().catch(this.parts.report);
    return this.#create({ principal: port.principal, filters: port.filters });
  }

  /** The port of a user, created on first use. @param reads when a new port reads the lists of its servers */
  use(name: string | undefined, reads: ListsRead): Port {
    const port = this.peek(name);
    if (port !== undefined) return port;
    this.plain.assertOpen();
    return this.#create({ principal: readPrincipal(name!, {}), reads });
  }

  /** The port of a user, or the plain one, if there is one. */
  peek(name: string | undefined): Port | undefined {
    return name === undefined ? this.plain : this.#ports.get(name);
  }

  /** Closes connections of users that have been idle for this long. Also done from time to time. */
  rest(idleMs: number = IDLE_MS): void {
    for (const port of this.#ports.values()) port.rest(idleMs);
  }

  /** Closes the port of a user and forgets it. */
  async release(name: string): Promise<void> {
    const port = this.#ports.get(name);
    if (port !== undefined) await this.close(port);
  }

  /** Closes a port. With the plain one, all others end. */
  async close(port: Port): Promise<void> {
    if (port.principal !== undefined) {
      const { name } = port.principal;
      if (this.#ports.get(name) === port) this.#ports.delete(name);
      return port.close();
    }
    clearInterval(this.#timer);
    (await this.#watching)?.();
    await Promise.all([this.plain, ...this.#ports.values()].map((each) => each.close()));
    this.parts.close();
  }

  /** @param of `filters`: those of an earlier port of the same user: new credentials must not make filtered tools visible again */
  #create(of: { principal?: Principal; filters?: FilterSet; reads?: ListsRead } = {}): Port {
    const parent = of.principal && this.plain;
    const all = () => [this.plain, ...this.#ports.values()];
    const port = new Port(this.parts, { ...of, parent, all, watching: this.#watching });
    const configs = parent?.pool.configs() ?? this.parts.settings.servers.values();
    for (const config of configs) port.register(config);
    if (of.principal !== undefined) this.#ports.set(of.principal.name, port);
    if (of.reads === "needed") this.#timer ??= unrefTimer(setInterval(() => this.rest(), LOOK_EVERY_MS));
    return port;
  }
}
