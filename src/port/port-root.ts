/** All ports of one `createToolport`: the plain one, and one for each principal. */
import type { FilterSet } from "../catalog/filters/filters.js";
import { unrefTimer } from "../util/timers.js";
import type { GatewayAccess } from "./gateway-access.js";
import type { LeanParts } from "./lean/lean-parts.js";
import type { OAuthCallbackOptions } from "./oauth-callback.js";
import { Port } from "./port.js";
import { type Principal, type PrincipalOptions, readPrincipal } from "./principal.js";
import type { SharedParts } from "./shared-parts.js";

/** Connections of users that are idle for this long are closed. */
const IDLE_MS = 60_000;
const LOOK_EVERY_MS = 15_000;

interface PortEntry<Methods> {
  readonly port: Port;
  /** The public methods; created on first use, because a gateway does not need them. */
  methods: Methods | undefined;
}

/** @typeParam Methods the object with the public methods of a port */
export class PortRoot<Methods> {
  readonly #parts: SharedParts;
  readonly #createMethods: (port: Port, root: PortRoot<Methods>) => Methods;
  /** What browsers show after a login. The same for all users, because the callback request does not say whose login it was. */
  callback: OAuthCallbackOptions = {};
  /** Stops watching the store. */
  readonly #watching: Promise<() => void> | undefined;
  #lean: LeanParts | undefined;
  #stopUsers: (() => void) | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #ports = new Map<string | undefined, PortEntry<Methods>>();

  constructor(parts: SharedParts, createMethods: (port: Port, root: PortRoot<Methods>) => Methods) {
    this.#parts = parts;
    this.#createMethods = createMethods;
    // Without a configured store, no other process can change pins.
    if (parts.settings.pins !== "off" && parts.settings.isSaved)
      this.#watching = import("./watch-keys.js").then(({ watchPins }) =>
        watchPins(parts, (principal) => this.known(principal)),
      );
  }

  /** The public methods of the plain port. */
  plain(): Methods {
    return this.#methodsOf(this.#entry());
  }

  /** The public methods of one user, with the newest options of that user. */
  as(name: string, options: PrincipalOptions): Methods {
    const given = readPrincipal(name, options);
    const known = this.#ports.get(name)?.port;
    const principal = known?.principal;
    if (known === undefined || principal === undefined) return this.#methodsOf(this.#entry(given));
    const renewal = principal.update(options);
    if (renewal === "processes") known.pool.renew((config) => "env" in config);
    if (renewal === "connections") {
      // The connections use the old provider, so they are closed. Headers and environment stay the same.
      this.#ports.delete(name);
      known.close().catch(this.#parts.report);
    }
    return this.#methodsOf(this.#entry(principal, known.filters));
  }

  /** Access for a gateway, which brings the code that only gateways need. */
  access(createLean: () => LeanParts): GatewayAccess {
    if (this.#lean === undefined) {
      this.#lean = createLean();
      this.#stopUsers = this.#lean.watchUsers(this.#parts, (principal) => this.known(principal));
    }
    const plain = this.#entry().port;
    const ports = this.#ports;
    return {
      plain,
      portOf: (principal) => {
        if (principal === undefined) return plain;
        const known = ports.get(principal)?.port;
        if (known !== undefined) return known;
        plain.assertOpen();
        return this.#entry(readPrincipal(principal, {}), undefined, true).port;
      },
      release: async (principal) => {
        const known = ports.get(principal)?.port;
        if (known !== undefined) await this.close(known);
      },
      rest: (idleMs = IDLE_MS) => this.#rest(idleMs),
      get users() {
        return ports.size - 1;
      },
      on: (event, listener) => this.#parts.emitter.on(event, listener),
    };
  }

  /** The port of a principal, if this process has one. */
  known(principal: string | undefined): Port | undefined {
    return this.#ports.get(principal)?.port;
  }

  async close(port: Port): Promise<void> {
    if (port.principal !== undefined) {
      const { name } = port.principal;
      if (this.#ports.get(name)?.port === port) this.#ports.delete(name);
      return port.close();
    }
    clearInterval(this.#timer);
    this.#stopUsers?.();
    (await this.#watching)?.();
    await Promise.all([...this.#ports.values()].map((entry) => entry.port.close()));
    this.#parts.close();
  }

  /** @param filters those of an earlier port of the same user: new credentials must not make filtered tools visible again */
  #entry(principal?: Principal, filters?: FilterSet, isLean = false): PortEntry<Methods> {
    const known = this.#ports.get(principal?.name);
    if (known !== undefined) return known;
    const parent = this.#ports.get(undefined)?.port;
    const all = () => [...this.#ports.values()].map((entry) => entry.port);
    const lean = () => this.#lean;
    const port = new Port(this.#parts, { principal, parent, all, filters, lean, isLean });
    const configs = parent?.pool.configs() ?? this.#parts.settings.servers.values();
    for (const config of configs) port.register(config);
    const entry: PortEntry<Methods> = { port, methods: undefined };
    this.#ports.set(principal?.name, entry);
    if (isLean && this.#timer === undefined) {
      this.#timer = unrefTimer(setInterval(() => this.#rest(IDLE_MS), LOOK_EVERY_MS));
    }
    return entry;
  }

  #rest(idleMs: number): void {
    for (const { port } of this.#ports.values()) port.rest(idleMs);
  }

  #methodsOf(entry: PortEntry<Methods>): Methods {
    entry.methods ??= this.#createMethods(entry.port, this);
    return entry.methods;
  }
}
