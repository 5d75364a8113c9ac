/** Counts malformed content in results, by server, and warns once for each tool. */
import type { ServerConnection } from "../connection/server-connection.js";
import type { MalformedContent } from "../execution/tool-result.js";

interface ServerCount {
  items: number;
  readonly warned: Set<string>;
}

export class MalformedCounts {
  /** By connection, so that the count goes away with a removed server. */
  readonly #counts = new WeakMap<ServerConnection, ServerCount>();
  readonly #warn: (server: string, message: string) => void;

  constructor(warn: (server: string, message: string) => void) {
    this.#warn = warn;
  }

  /** @param tool name of the tool on its server */
  add(connection: ServerConnection, tool: string, { count: found, items }: MalformedContent): void {
    const count = this.#counts.get(connection) ?? { items: 0, warned: new Set() };
    this.#counts.set(connection, count);
    count.items += found;
    if (count.warned.has(tool)) return;
    count.warned.add(tool);
    const [first] = items;
    const what = `${first?.type}: ${first?.problem}`;
    const more = found > 1 ? `, and ${found - 1} more` : "";
    this.#warn(connection.name, `The result of ${tool} has malformed content (${what}${more})`);
  }

  of(connection: ServerConnection): number {
    return this.#counts.get(connection)?.items ?? 0;
  }
}
