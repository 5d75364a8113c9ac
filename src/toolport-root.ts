/** All ports of one `createToolport`: the plain one, and one per principal. */
import type { FilterSet } from "./catalog/filters/filter-set.js";
import { openDoors } from "./open-doors.js";
import type { OAuthCallbackOptions } from "./port/oauth-callback.js";
import { Port } from "./port/port.js";
import { type Principal, type PrincipalOptions, readPrincipal } from "./port/principal.js";
import type { SharedParts } from "./port/shared-parts.js";
import type { Toolport } from "./toolport.js";

export class ToolportRoot {
  readonly #parts: SharedParts;
  /** What browsers see after a login: the same for everybody, since anybody's may come in at any door. */
  callback: OAuthCallbackOptions = {};
  readonly #ports = new Map<string | undefined, { port: Port; toolport: Toolport }>();

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  /** The port of one user, with that user's newest options. */
  portOf(name: string, options: PrincipalOptions): Toolport {
    const given = readPrincipal(name, options);
    const known = this.#ports.get(name)?.port;
    const principal = known?.principal;
    if (known === undefined || principal === undefined) return this.port(given);
    const renewal = principal.update(options);
    if (renewal === "processes") known.pool.renew((config) => "env" in config);
    if (renewal === "connections") {
      // Connections made with the old provider end with it; headers and environment stay.
      this.#ports.delete(name);
      known.close().catch(this.#parts.report);
    }
    return this.port(principal, known.filters);
  }

  /** @param filters what an earlier port of the same user was given: new credentials must not bring tools back */
  port(principal?: Principal, filters?: FilterSet): Toolport {
    const known = this.#ports.get(principal?.name);
    if (known !== undefined) return known.toolport;
    const first = this.#ports.get(undefined);
    const all = () => [...this.#ports.values()].map((entry) => entry.port);
    const port = new Port(this.#parts, { principal, parent: first?.port, all, filters });
    const configs =
      first?.port.pool.all().map(({ config }) => config) ?? this.#parts.settings.servers.values();
    for (const config of configs) port.register(config);
    const toolport = openDoors(port, this);
    this.#ports.set(principal?.name, { port, toolport });
    return toolport;
  }

  /** The port of a principal, if there is one here. */
  known(principal: string | undefined): Port | undefined {
    return this.#ports.get(principal)?.port;
  }

  async close(port: Port): Promise<void> {
    if (port.principal !== undefined) {
      this.#ports.delete(port.principal.name);
      return port.close();
    }
    await Promise.all([...this.#ports.values()].map((entry) => entry.port.close()));
    this.#parts.close();
  }
}
