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

  /** The port of one user, with that user's newest headers. */
  portOf(name: string, options: PrincipalOptions): Toolport {
    const principal = readPrincipal(name, options);
    const known = this.#ports.get(name)?.port;
    // Another provider takes other connections; those made with the old one end with it.
    if (known !== undefined && known.principal?.update(options) === false) {
      this.#ports.delete(name);
      known.close().catch(this.#parts.report);
      return this.port(principal, known.filters);
    }
    return this.port(principal);
  }

  /** @param filters what an earlier port of the same user was given: new credentials must not bring tools back */
  port(principal?: Principal, filters?: FilterSet): Toolport {
    const known = this.#ports.get(principal?.name);
    if (known !== undefined) return known.toolport;
    const first = this.#ports.get(undefined);
    const port = new Port(this.#parts, { principal, parent: first?.port, filters });
    const configs =
      first?.port.pool.all().map(({ config }) => config) ?? this.#parts.settings.servers.values();
    for (const config of configs) port.register(config);
    const toolport = openDoors(port, this);
    this.#ports.set(principal?.name, { port, toolport });
    return toolport;
  }

  /** Servers added or removed on the plain port are so for everybody. */
  others(port: Port): Port[] {
    return port.principal === undefined
      ? [...this.#ports.values()].map((entry) => entry.port).filter((it) => it !== port)
      : [];
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
