/** Everything the servers offer, under public names. A snapshot never changes; a change makes a new one. */
import type { ListName } from "../protocol/list-watch.js";
import type { Session } from "../protocol/session.js";
import { type ListOptions, listTools, type ToolList } from "./list-tools.js";
import type { SourceTool } from "./source-tool.js";
import type { ToolInfo, WithheldTool } from "./tool-info.js";
import { publicName } from "./tool-names.js";

/** Where a public name leads. */
export interface CatalogEntry {
  readonly info: ToolInfo;
  readonly source: SourceTool;
}

export interface CatalogOptions {
  prefix: boolean;
  listTimeoutMs: number;
  /** Names of the servers in the order they were configured: it decides who keeps a bare name. */
  serverOrder: () => readonly string[];
  onChanged: (server: string) => void;
  onWarning: (server: string, message: string) => void;
}

/** How long changes are gathered before the list is read again. */
const DEBOUNCE_MS = 50;

export class Catalog {
  readonly #options: CatalogOptions;
  readonly #lists = new Map<string, ToolList>();
  #entries: ReadonlyMap<string, CatalogEntry> | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** Reads a server's lists and keeps them fresh for as long as the session lives. */
  async load(session: Session, signal: AbortSignal): Promise<void> {
    await this.read(session, { signal });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const off = session.onListChanged((list: ListName) => {
      if (list !== "tools" || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        this.read(session).catch((error: unknown) => {
          this.#options.onWarning(
            session.server,
            `The changed tool list could not be read: ${String(error)}`,
          );
        });
      }, DEBOUNCE_MS);
      if (typeof timer === "object") timer.unref?.();
    });
    void session.closed.then(() => {
      clearTimeout(timer);
      off();
    });
  }

  /** Forgets a server that was removed. */
  drop(server: string): void {
    if (this.#lists.delete(server)) this.#changed(server);
  }

  entry(name: string): CatalogEntry | undefined {
    return this.#snapshot().get(name);
  }

  tools(): ToolInfo[] {
    return [...this.#snapshot().values()].map((entry) => entry.info);
  }

  toolCount(server: string): number {
    return this.#lists.get(server)?.tools.length ?? 0;
  }

  withheld(): WithheldTool[] {
    return [...this.#lists].flatMap(([server, list]) => list.withheld.map((tool) => ({ server, ...tool })));
  }

  /** Reads a server's lists anew. */
  async read(
    session: Session,
    { signal, timeoutMs = this.#options.listTimeoutMs }: Partial<ListOptions> = {},
  ): Promise<void> {
    const { server } = session;
    const list = await listTools(session, { timeoutMs, signal });
    if (list.cut !== undefined) this.#options.onWarning(server, list.cut);
    for (const { name, reason } of list.withheld)
      this.#options.onWarning(server, `Tool ${name} is withheld: ${reason}`);
    this.#lists.set(server, list);
    this.#changed(server);
  }

  #changed(server: string): void {
    this.#entries = undefined;
    this.#options.onChanged(server);
  }

  #snapshot(): ReadonlyMap<string, CatalogEntry> {
    this.#entries ??= this.#build();
    return this.#entries;
  }

  #build(): ReadonlyMap<string, CatalogEntry> {
    const entries = new Map<string, CatalogEntry>();
    const taken = new Set<string>();
    for (const server of this.#options.serverOrder()) {
      for (const source of this.#lists.get(server)?.tools ?? []) {
        const name = publicName({ server, tool: source.sourceName, prefix: this.#options.prefix }, taken);
        taken.add(name.toLowerCase());
        const { paramHeaders: _, ...rest } = source;
        entries.set(name, { info: Object.freeze({ name, server, ...rest }), source });
      }
    }
    return entries;
  }
}
