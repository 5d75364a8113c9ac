/** Requires that the user sees and confirms a command before the console starts a program. */
import type { ServerSnapshot, Toolport } from "@toolport/core";

const PROCESS_TRANSPORTS = ["stdio", "docker"];
const NEVER_STARTED = ["idle", "closed"];

/** A program that would be started, with its command without secrets. */
export interface StartCommand {
  readonly server: string;
  readonly command: string;
}

/** Thrown if an action would start a program without consent. */
export class ConsentNeeded extends Error {
  readonly code = "CONSENT_NEEDED";
  readonly commands: readonly StartCommand[];

  constructor(servers: readonly ServerSnapshot[]) {
    super("This starts a program on this machine");
    this.commands = servers.map(({ name, server_url }) => ({ server: name, command: server_url }));
  }
}

export class Consent {
  /** Servers that were started before, by the host program or with consent. */
  readonly #started = new Set<string>();

  constructor(readonly toolport: Toolport) {
    for (const { name, state } of Object.values(toolport.snapshot().servers))
      if (!NEVER_STARTED.includes(state)) this.#started.add(name);
  }

  /** Records that the server was started. */
  noteStart(server: string): void {
    this.#started.add(server);
  }

  isNeeded({ name, transport }: ServerSnapshot): boolean {
    return PROCESS_TRANSPORTS.includes(transport) && !this.#started.has(name);
  }

  /**
   * Called before an action that may start these servers.
   *
   * @throws ConsentNeeded if that would start a program without consent
   */
  require(names: readonly string[], given: unknown): void {
    const { servers } = this.toolport.snapshot();
    const asking = names
      .flatMap((name) => (Object.hasOwn(servers, name) ? [servers[name]!] : []))
      .filter((server) => this.isNeeded(server));
    if (asking.length === 0) return;
    if (given !== true) throw new ConsentNeeded(asking);
    for (const { name } of asking) this.#started.add(name);
  }
}
