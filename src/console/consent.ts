/** No program is started because of a click alone: whoever clicks has seen its command first. */
import type { ServerSnapshot } from "../port/snapshot.js";
import type { Toolport } from "../toolport.js";
import type { StartCommand } from "./console-api.js";

const PROCESS_TRANSPORTS = ["stdio", "docker"];
const NEVER_STARTED = ["idle", "closed"];

/** Something would be started that nobody has agreed to. */
export class ConsentNeeded extends Error {
  readonly commands: readonly StartCommand[];

  constructor(servers: readonly ServerSnapshot[]) {
    super("This starts a program on this machine");
    this.commands = servers.map(({ name, server_url }) => ({ server: name, command: server_url }));
  }
}

export class Consent {
  readonly #toolport: Toolport;
  /** Started before, by the program itself or by somebody who agreed. */
  readonly #started = new Set<string>();

  constructor(toolport: Toolport) {
    this.#toolport = toolport;
    for (const { name, state } of Object.values(toolport.snapshot().servers))
      if (!NEVER_STARTED.includes(state)) this.#started.add(name);
  }

  /** The server is being brought up by somebody. */
  noteStart(server: string): void {
    this.#started.add(server);
  }

  isNeeded({ name, transport }: ServerSnapshot): boolean {
    return PROCESS_TRANSPORTS.includes(transport) && !this.#started.has(name);
  }

  /**
   * For an action on a server that may bring it up, and for a call its fallbacks too.
   *
   * @throws ConsentNeeded if that would start what nobody has agreed to
   */
  require(names: readonly string[], given: unknown): void {
    const { servers } = this.#toolport.snapshot();
    const asking = names
      .flatMap((name) => (Object.hasOwn(servers, name) ? [servers[name]!] : []))
      .filter((server) => this.isNeeded(server));
    if (asking.length === 0) return;
    if (given !== true) throw new ConsentNeeded(asking);
    for (const { name } of asking) this.#started.add(name);
  }
}
