/** Which servers a tool of the port's own speaks for, and which of them a model means. */
import { suggest } from "../util/suggest.js";
import type { Port } from "./port.js";

export class ExposedServers {
  readonly #port: Port;
  readonly #only: readonly string[] | undefined;

  /** @param only the servers chosen by the user; undefined: all */
  constructor(port: Port, only: readonly string[] | undefined) {
    this.#port = port;
    this.#only = only;
  }

  /** The names of all of them. */
  names(): string[] {
    return this.#port.pool.names.filter((name) => this.#only?.includes(name) ?? true);
  }

  has(server: string): boolean {
    return this.names().includes(server);
  }

  /** Whether a choice of servers leaves out none of them: the tool would speak for that one all the same. */
  isCoveredBy(servers: readonly string[]): boolean {
    return this.names().every((name) => servers.includes(name));
  }

  /** The server that is meant, or what to tell the model. A model that forgets it may have meant the only one. */
  choose(given: unknown, candidates: readonly string[]): { server: string } | { problem: string } {
    const names = this.names();
    if (typeof given === "string" && names.includes(given)) return { server: given };
    const [only, ...others] = new Set(candidates);
    const isMissing = given === undefined || given === null || given === "";
    if (isMissing && only !== undefined && others.length === 0) return { server: only };
    const close = typeof given === "string" ? suggest(given, names) : [];
    const hint =
      close.length > 0 ? `Did you mean ${close.join(" or ")}?` : `Use one of: ${names.join(", ")}.`;
    const what = isMissing ? "mcpServer is missing" : `There is no server named ${JSON.stringify(given)}`;
    return { problem: `${what}. ${hint}` };
  }
}
