/** The parts of a port that a user without calls does not need: created on first use, because a gateway has many idle users. */
import type { ArtifactPart } from "../execution/artifacts/artifact-store.js";
import type { Pipeline } from "../execution/pipeline.js";
import type { LeanParts } from "./lean/lean-parts.js";
import type { ListsHost, PortLists } from "./lean/port-lists.js";
import { MalformedCounts } from "./malformed-counts.js";
import { OwnToolSet } from "./own-tools/own-tool-set.js";
import { createPortPipeline } from "./port-pipeline.js";
import type { PoolHost } from "./port-pool.js";
import { PortVariants } from "./port-variants.js";
import { ResourceCache } from "./resources/resource-cache.js";
import { Subscriptions } from "./resources/subscriptions.js";
import type { PortSuspensions } from "./suspensions/port-suspensions.js";
import { PortTasks } from "./tasks/port-tasks.js";

/** What these parts need of their port. */
type ServicesHost = PoolHost &
  ListsHost &
  ConstructorParameters<typeof PortSuspensions>[0] &
  Parameters<typeof createPortPipeline>[0] &
  ConstructorParameters<typeof OwnToolSet>[0] &
  ConstructorParameters<typeof Subscriptions>[0] &
  ConstructorParameters<typeof PortTasks>[0];

export abstract class PortServices {
  #pipeline: Pipeline | undefined;
  #resourceCache: ResourceCache | undefined;
  #subscriptions: Subscriptions | undefined;
  #tasks: PortTasks | undefined;
  #variants: PortVariants | undefined;
  #malformed: MalformedCounts | undefined;
  #own: OwnToolSet | undefined;
  #artifacts: ArtifactPart | undefined;
  #lists: PortLists | undefined;
  #suspensions: Promise<PortSuspensions> | undefined;

  /** The port itself. */
  protected abstract host(): ServicesHost;

  /** What only gateways use. */
  abstract readonly lean: LeanParts;

  get pipeline(): Pipeline {
    this.#pipeline ??= createPortPipeline(this.host());
    return this.#pipeline;
  }

  get resourceCache(): ResourceCache {
    this.#resourceCache ??= new ResourceCache();
    return this.#resourceCache;
  }

  get subscriptions(): Subscriptions {
    this.#subscriptions ??= new Subscriptions(this.host());
    return this.#subscriptions;
  }

  get tasks(): PortTasks {
    this.#tasks ??= new PortTasks(this.host());
    return this.#tasks;
  }

  /** Connections for the clients of a gateway. */
  get variants(): PortVariants {
    this.#variants ??= new PortVariants(this.host());
    return this.#variants;
  }

  get malformed(): MalformedCounts {
    this.#malformed ??= new MalformedCounts(this.host().parts.warn);
    return this.#malformed;
  }

  /** Tools of the port itself. */
  get own(): OwnToolSet {
    this.#own ??= new OwnToolSet(this.host());
    return this.#own;
  }

  /** Texts of results that were too large for a model. */
  get artifacts(): ArtifactPart {
    this.#artifacts ??= this.host().parts.artifacts.createPart();
    return this.#artifacts;
  }

  /** The lists for a gateway. */
  get lists(): PortLists {
    this.#lists ??= this.lean.createLists(this.host());
    return this.#lists;
  }

  /** A client of a gateway listens for changes of lists. */
  protected get isListening(): boolean {
    return this.#lists?.isListening === true;
  }

  /** Loaded on first use: most programs suspend no calls. */
  suspensions(): Promise<PortSuspensions> {
    this.#suspensions ??= import("./suspensions/port-suspensions.js").then(
      ({ PortSuspensions }) => new PortSuspensions(this.host()),
      (error: unknown) => {
        this.#suspensions = undefined;
        throw error;
      },
    );
    return this.#suspensions;
  }

  /** The connection of a server was opened or closed. */
  connectionChanged(server: string, to: "ready" | "closed"): void {
    if (to === "closed") return this.#pipeline?.targets.disconnected(server);
    this.#pipeline?.targets.reconnected(server);
    this.#resourceCache?.forget(server);
    this.#subscriptions?.ready(server);
  }

  /** A server did not answer while a request waited. */
  serverSilent(server: string, error: Parameters<Pipeline["targets"]["silent"]>[1]): void {
    this.#pipeline?.targets.silent(server, error);
  }

  /** The server reported a change. @param uri undefined: any resource may have changed */
  resourceChanged(server: string, uri?: string): void {
    this.#resourceCache?.forget(server, uri);
    if (uri !== undefined) this.#subscriptions?.updated(server, uri);
  }

  /** A server was added or removed. */
  serversChanged(server: string): void {
    this.#lists?.serversChanged(server);
  }

  /** The server will be removed. */
  async dropServer(server: string): Promise<void> {
    this.#subscriptions?.drop(server);
    await this.#variants?.drop(server);
  }

  /** The server is removed. */
  forgetServer(server: string): void {
    this.#resourceCache?.forget(server);
    this.#pipeline?.targets.forget(server);
  }

  protected async closeServices(): Promise<void> {
    this.#subscriptions?.close();
    this.#lists?.close();
    // Created if need be: a call that ends after this must not keep anything.
    this.artifacts.close();
    await Promise.all([this.#tasks?.close(), this.#variants?.close()]);
  }
}
