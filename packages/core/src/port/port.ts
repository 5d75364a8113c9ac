/** One port: the connections, the catalog and the pipeline of one principal. */

import { loadOnce, toToolportError } from "@toolport/base";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import { type Catalog, toDiscoveryError } from "../catalog/catalog.js";
import type { ListKey } from "../catalog/server-lists.js";
import { ConnectionPool, startUpkeep } from "../connection/connection-pool.js";
import type { ConnectionParts } from "../connection/connection-state.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { Pipeline } from "../execution/pipeline.js";
import type { AnyCallOptions, CallAnswer, CallAttempt } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { SessionHooks } from "../protocol/session-hooks.js";
import { ensureLists, findTool } from "./find-tool.js";
import { ListReader } from "./list-reader.js";
import { NeededLists, type NeedOptions } from "./needed-lists.js";
import { OwnToolSet } from "./own-tools/own-tool-set.js";
import { type CallSetup, PortCore, type PortOwner } from "./port-core.js";
import { connectionPartsOf, createPortCatalog, createPortPipeline, MalformedCounts } from "./port-wiring.js";
import { configFor } from "./principal.js";
import { Subscriptions } from "./resources/subscriptions.js";
import type { SavedState } from "./saved/saved-state.js";
import type { SharedParts } from "./shared-parts.js";
import { PortTasks } from "./tasks/port-tasks.js";

type PatientWait = WaitOptions & { patient?: boolean | undefined };

interface PortRelations extends PortOwner {
  /** The plain port, which provides its servers to every user. */
  readonly parent?: PortCore | undefined;
  /** Settles when changes of the store by other processes are noticed. */
  readonly watching?: Promise<unknown> | undefined;
}

/** The state of one port. `create-toolport.ts` adds the public methods. */
export class Port extends PortCore {
  readonly catalog: Catalog;
  readonly pool: ConnectionPool;
  readonly saved: ReturnType<typeof savedRecords> | undefined;
  readonly #stopUpkeep: () => void;
  // The others are created on first use, because many users are idle.
  #pipeline: Pipeline | undefined;
  #subscriptions: Subscriptions | undefined;
  #tasks: PortTasks | undefined;
  #malformed: MalformedCounts | undefined;
  #own: OwnToolSet | undefined;
  #lists: ListReader | undefined;
  #needs: NeededLists | undefined;

  constructor(parts: SharedParts, { parent, watching, ...owner }: PortRelations = {}) {
    super(parts, owner);
    const { settings } = parts;
    this.catalog = createPortCatalog(this, () => this.own.names);
    this.pool = new ConnectionPool(this.#connectionParts(), (config) => configFor(config, this.principal));
    // Reports at once what is wrong with their options, which are those of all users.
    if (this.principal === undefined) void [this.pipeline, this.own];
    if (settings.catalog !== undefined) this.catalog.restore(settings.catalog);
    this.saved = settings.isSaved ? savedRecords(this, parent, watching) : undefined;
    this.#stopUpkeep = startUpkeep(
      this.pool,
      { healthCheckMs: settings.healthCheck?.intervalMs, idleTimeoutMs: settings.idleTimeoutMs },
      (idleMs) => {
        if (this.principal === undefined) return;
        this.pool.forgetClosed(idleMs);
        this.#freeUnused();
      },
    );
  }

  get pipeline(): Pipeline {
    this.#pipeline ??= createPortPipeline(this, {
      tasks: this.tasks.runs,
      malformed: this.malformed,
      ensureTools: (connection, wait) => this.#ensureTools(connection, wait),
      refresh: (connection, signal) => this.reread(connection, { signal }),
      connectionFor: (connection, hooks, wait) => this.connectionFor(connection, hooks, wait),
    });
    return this.#pipeline;
  }

  get subscriptions(): Subscriptions {
    this.#subscriptions ??= new Subscriptions(this);
    return this.#subscriptions;
  }

  get tasks(): PortTasks {
    this.#tasks ??= new PortTasks(this, async (call) => (await this.pipeline.taskResult(call)).result);
    return this.#tasks;
  }

  get malformed(): MalformedCounts {
    this.#malformed ??= new MalformedCounts(this.parts.warn);
    return this.#malformed;
  }

  /** Tools of the port itself. */
  get own(): OwnToolSet {
    this.#own ??= new OwnToolSet(this);
    return this.#own;
  }

  get lists(): ListReader {
    this.#lists ??= new ListReader(this, (server, key) => this.needs.provide(server, key));
    return this.#lists;
  }

  /** Lists that callers need now. */
  get needs(): NeededLists {
    this.#needs ??= new NeededLists(this);
    return this.#needs;
  }

  /** Connections for callers with capabilities of their own. Loaded on first use: most programs have none. */
  readonly variants = loadOnce(async () => {
    const { Variants } = await import("./variants.js");
    return new Variants(() => this.#connectionParts(), this.parts.settings.idleTimeoutMs);
  });

  /** Loaded on first use: most programs suspend no calls. */
  readonly suspensions = loadOnce(async () => {
    const { PortSuspensions } = await import("./suspensions/port-suspensions.js");
    return new PortSuspensions(this);
  });

  /** Makes a list of these servers known, within a time limit. Servers that fail or are late keep the lists they had. */
  need(list: ListKey, options: NeedOptions = {}): Promise<void> {
    return this.needs.need(list, options);
  }

  /** The tool of this public name. Connects and lists as few servers as possible. */
  async findForCall(name: string, wait: WaitOptions = {}): Promise<CatalogEntry> {
    await this.opened();
    return this.catalog.entry(name) ?? this.findTool(name, wait);
  }

  async findTool(name: string, wait: WaitOptions): Promise<CatalogEntry> {
    if (this.reads === "connect") return findTool(this, name, wait);
    const { findListed } = await import("./find-listed.js");
    return findListed(this, name, wait);
  }

  /** Closes connections over HTTP that have been idle for this long, unless changes of lists are followed on them. */
  rest(idleMs: number): void {
    if (this.reads === "connect" || this.closing !== undefined || this.#lists?.isListening === true) return;
    this.pool.rest(idleMs);
    this.#freeUnused();
  }

  /** Listens for changes of lists until the returned function is called. */
  listen(): () => void {
    const stop = this.lists.listen();
    return () => {
      stop();
      if (!this.lists.isListening) this.#needs?.close();
    };
  }

  ensureLists(connections: readonly ServerConnection[], wait: WaitOptions): Promise<unknown> {
    return this.reads === "needed"
      ? this.needs.needAll(connections, wait)
      : ensureLists(this, connections, wait);
  }

  /** Reads the lists of a server again. */
  reread(connection: ServerConnection, wait: WaitOptions = {}): Promise<void> {
    const reading = this.read(connection, (session) => this.lists.reread(session, wait), wait);
    return reading.catch((error: unknown) => {
      throw toDiscoveryError(error, connection.name);
    });
  }

  /**
   * The connection for a request of a caller. Modern servers, and callers without capabilities, use the ordinary one.
   *
   * @param connection the ordinary connection
   */
  async connectionFor(
    { current }: ServerConnection,
    hooks: SessionHooks,
    wait: PatientWait,
  ): Promise<ServerConnection> {
    if (hooks.capabilityKey === "" || current.session?.era === "modern") return current;
    return (await this.variants()).connectionFor(current, hooks, wait);
  }

  /** Tells the servers that the roots of the callers with these capabilities have changed. @param answer asks such a caller */
  async callerRootsChanged(capabilityKey: string, answer: SessionHooks["answer"] | undefined): Promise<void> {
    await (await this.variants.current)?.rootsChanged(capabilityKey, answer);
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
  ): Promise<ToolResult> {
    const entry = this.catalog.entry(name) ?? (await this.findTool(name, options));
    return (await this.run(entry, args, options)).result;
  }

  async run(
    entry: CatalogEntry,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
    setup?: CallSetup,
  ): Promise<CallAnswer> {
    const startedAt = performance.now();
    // An explicit timeout longer than the maximum raises the maximum for this call.
    const limitMs = Math.max(this.parts.settings.maxTimeoutMs, options.timeoutMs ?? 0);
    const attempts: CallAttempt[] = [];
    const handle = setup?.suspension?.isApprovalOnly ? this.pipeline.approval : this.pipeline.call;
    const answer = await handle({
      tool: entry.info,
      args,
      added: options.added,
      options,
      task: setup?.task,
      suspension: setup?.suspension,
      hooks: setup?.hooks,
      round: setup?.round,
      admitFallback: setup?.admitFallback,
      principal: this.principal?.name,
      attempts,
      startedAt,
      deadline: startedAt + limitMs,
      patient: true,
      budget: this.parts.validator.createBudget(),
      // Steps copy the call and set these: a field that the copied object lacks takes a microsecond.
      target: undefined,
      resends: undefined,
      checked: undefined,
      onSent: undefined,
    });
    const durationMs = performance.now() - startedAt;
    return { ...answer, result: { ...answer.result, attempts: attempts.length, durationMs } };
  }

  close(): Promise<void> {
    this.#stopUpkeep();
    this.closing ??= this.#close();
    return this.closing;
  }

  protected serversChanged(server: string): void {
    this.#pipeline?.targets.forget(server);
    this.#lists?.serversChanged(server);
  }

  protected async dropServer(server: string): Promise<void> {
    this.#subscriptions?.drop(server);
    await (await this.variants.current)?.drop(server);
  }

  async #close(): Promise<void> {
    this.#subscriptions?.close();
    this.#lists?.close();
    this.#needs?.close();
    // Created if need be: a call that ends after this must not keep anything.
    this.artifacts.close();
    const variants = this.variants.current?.then((each) => each.close());
    await Promise.all([
      this.#tasks?.close(),
      variants,
      this.pool.close(),
      this.saved?.state.then((state) => state?.stop()),
    ]);
    await this.closeClients();
  }

  /** Connects a server and makes its tools known. */
  async #ensureTools(connection: ServerConnection, wait: PatientWait): Promise<void> {
    await connection.acquire(wait);
    if (this.reads === "needed") await this.needs.provide(connection.name, "tools");
  }

  #closed(server: string): void {
    const state = this.pool.peek(server)?.state;
    const isIdle = state?.status === "closed" && state.by === "idleness";
    // Calls in the queue connect the server again.
    if (isIdle) this.#pipeline?.targets.resetBreaker(server);
    else this.#pipeline?.targets.disconnected(server);
  }

  /** An idle user keeps no sockets, and nothing that its next call creates again. */
  #freeUnused(): void {
    if (this.pool.created().length > 0) return;
    this.#own = undefined;
    if (this.#pipeline?.targets.isUnused) this.#pipeline = undefined;
    // Requests outside the pool, of a login or with the capabilities of a caller, continue.
    this.closeIdleSockets().catch(this.parts.report);
  }

  #connectionParts(): ConnectionParts {
    return connectionPartsOf(this, {
      readLists: async (session, signal) => {
        await this.lists.connected(session, signal).catch((error: unknown) => {
          throw toDiscoveryError(error, session.server);
        });
      },
      connectionChanged: (server, to) => {
        if (to === "closed") return this.#closed(server);
        this.#pipeline?.targets.reconnected(server);
        this.forgetResources(server);
        this.#subscriptions?.ready(server);
      },
      // Counts before the first call, too.
      onSilent: (server, error) => this.pipeline.targets.silent(server, error),
      resourceChanged: (server, uri) => {
        this.forgetResources(server, uri);
        if (uri !== undefined) this.#subscriptions?.updated(server, uri);
      },
    });
  }
}

/**
 * The saved state of a port, loaded only if the program has configured a store.
 *
 * @param watching settles when changes of other processes are noticed: what is read after that misses none
 */
function savedRecords(port: PortCore, parent: PortCore | undefined, watching: Promise<unknown> | undefined) {
  const { settings, warn } = port.parts;
  let isRestoring = settings.restore !== false;
  const state = Promise.all([import("./saved/saved-state.js"), watching]).then(
    ([code]): SavedState | undefined => new code.SavedState(port, parent),
    (error: unknown) => {
      warn(undefined, `Saved state cannot be used: ${toToolportError(error).message}`);
      return undefined;
    },
  );
  return {
    state,
    get isRestoring() {
      return isRestoring;
    },
    restored: state.then(async (saved) => {
      await saved?.restored;
      isRestoring = false;
    }),
  };
}
