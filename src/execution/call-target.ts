/** What a call needs to know about the server it is sent to, resolved once for each server. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { SourceTool } from "../catalog/source-tool.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { ConnectionError, type ToolportError } from "../errors/toolport-error.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { Session } from "../protocol/session.js";
import { createSchemaValidator, fromSdkValidator, type SchemaValidator } from "../schema/create-validator.js";
import type { TokenBucket } from "../util/concurrency.js";
import { Breaker, type BreakerOptions, type BreakerSnapshot } from "./breaker.js";
import { hasLimits, Limiter, type LimitOptions } from "./rate-limit.js";

/** One server as a call sees it. */
export interface CallTarget {
  readonly connection: ServerConnection;
  readonly config: ServerConfig;
  /** The session when the target was resolved. A later session may have listed the tool differently. */
  readonly session: Session | undefined;
  /** The tool as the server listed it, before any mapper; undefined if the catalog does not contain it. */
  readonly source: SourceTool | undefined;
  /** Checks arguments and results: the server's own validator, or that of the port. */
  readonly validator: SchemaValidator;
  /** `trustAnnotations` is set for the server, and for the server that defined the tool if that is another one. */
  readonly isTrusted: boolean;
  /** Undefined if the port has no circuit breaker. */
  readonly breaker: Breaker | undefined;
  readonly guards: ServerGuards;
}

/** State that all calls to one server share. */
interface ServerGuards {
  breaker: Breaker | undefined;
  readonly limiter: Limiter | undefined;
  /** Created at the first retry: until then the budget is full. */
  retryBudget: TokenBucket | undefined;
}

export interface CallTargetParts {
  readonly connections: {
    get(server: string): ServerConnection | undefined;
    /** Throws `UNKNOWN_SERVER`. */
    require(server: string): ServerConnection;
  };
  readonly catalog: { find(server: string, sourceName: string): CatalogEntry | undefined };
  /** For servers without a validator of their own. */
  readonly validator: SchemaValidator;
  readonly breaker: BreakerOptions;
  /** For servers without limits of their own. */
  readonly limits: LimitOptions;
}

type NamedTool = Pick<ToolInfo, "server" | "sourceName">;

/** Resolves targets, and keeps the circuit breaker, limiter and retry budget of each server. */
export class CallTargets {
  readonly #parts: CallTargetParts;
  readonly #guards = new Map<string, ServerGuards>();

  constructor(parts: CallTargetParts) {
    this.#parts = parts;
  }

  /** Throws `UNKNOWN_SERVER` if the server was removed. */
  resolve(tool: NamedTool & Pick<ToolInfo, "definedBy">): CallTarget {
    const { connections, catalog, validator } = this.#parts;
    const connection = connections.require(tool.server);
    const { config, session } = connection;
    const guards = this.#guardsOf(tool.server);
    return {
      connection,
      config,
      session,
      source: catalog.find(tool.server, tool.sourceName)?.source,
      validator: config.clientOptions === undefined ? validator : (validatorOf(config) ?? validator),
      isTrusted:
        config.trustAnnotations === true &&
        (tool.definedBy === undefined || connections.get(tool.definedBy)?.config.trustAnnotations === true),
      breaker: this.#breakerOf(guards, tool.server),
      guards,
    };
  }

  /** The tool as its server lists it now. */
  sourceOf({ server, sourceName }: NamedTool): SourceTool | undefined {
    return this.#parts.catalog.find(server, sourceName)?.source;
  }

  /** False while a later call must know something about an earlier one. */
  get isUnused(): boolean {
    const guards = [...this.#guards.values()];
    return guards.every(({ breaker, limiter, retryBudget }) => !breaker && !limiter && !retryBudget);
  }

  /** Null before the first call to the server. */
  breakerSnapshot(server: string): BreakerSnapshot | null {
    return this.#guards.get(server)?.breaker?.snapshot ?? null;
  }

  /** The server did not answer a ping. */
  silent(server: string, error: ToolportError): void {
    this.#breakerOf(this.#guardsOf(server), server)?.silent(error);
  }

  /** The server is connected again: an open breaker lets the next call through. */
  reconnected(server: string): void {
    this.#guards.get(server)?.breaker?.allowProbe();
  }

  resetBreaker(server: string): void {
    const guards = this.#guards.get(server);
    // A new breaker at the next call: failures of calls that are still under way do not count for it.
    if (guards !== undefined) guards.breaker = undefined;
  }

  /** Rejects the calls that wait in the queue of the server, and resets its breaker. */
  disconnected(server: string): void {
    this.resetBreaker(server);
    this.#guards.get(server)?.limiter?.clear(disconnectedError(server));
  }

  /** The server was removed. Another one of the same name starts with new state. */
  forget(server: string): void {
    this.#guards.delete(server);
  }

  #guardsOf(server: string): ServerGuards {
    const known = this.#guards.get(server);
    if (known !== undefined) return known;
    const { concurrency, rateLimit } = this.#parts.connections.get(server)?.config ?? {};
    const { limits: port } = this.#parts;
    const limits = {
      ...port,
      concurrency: concurrency ?? port.concurrency,
      rateLimit: rateLimit ?? port.rateLimit,
    };
    const limiter = hasLimits(limits) ? new Limiter(server, limits) : undefined;
    const guards: ServerGuards = { breaker: undefined, limiter, retryBudget: undefined };
    this.#guards.set(server, guards);
    return guards;
  }

  #breakerOf(guards: ServerGuards, server: string): Breaker | undefined {
    const { breaker } = this.#parts;
    if (breaker !== false) guards.breaker ??= new Breaker(server, breaker);
    return guards.breaker;
  }
}

const disconnectedError = (server: string): ConnectionError =>
  new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server was disconnected while the call waited in its queue",
    outcome: "unsent",
  });

/** Compiled schemas live as long as the user's validator. */
const validators = new WeakMap<NonNullable<ClientOptions["jsonSchemaValidator"]>, SchemaValidator>();

/** The validator in `clientOptions` of a server's entry. */
function validatorOf({ clientOptions }: ServerConfig): SchemaValidator | undefined {
  const given = clientOptions?.reveal().jsonSchemaValidator;
  if (given === undefined) return undefined;
  const validator = validators.get(given) ?? createSchemaValidator({ validator: fromSdkValidator(given) });
  validators.set(given, validator);
  return validator;
}
