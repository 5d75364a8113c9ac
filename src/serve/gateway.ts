/** Offers the servers of a port as one MCP server: over HTTP, stdio and in memory, for any number of users and replicas. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Transport } from "@modelcontextprotocol/client";
import { compileFilter } from "../catalog/filters/filters.js";
import { gatewayAccess } from "../port/gateway-access.js";
import type { Toolport } from "../toolport.js";
import type { AuditEntry } from "./audit/audit-event.js";
import { openAudit } from "./audit/open-audit.js";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.js";
import { createConnect } from "./auth/connect.js";
import { createUpstreamLogins } from "./auth/upstream-logins.js";
import { ParkedCalls } from "./calls/parked-calls.js";
import { Questions } from "./calls/questions.js";
import type { GatewayOptions } from "./gateway-options.js";
import { FetchReply, FetchRequest } from "./http/fetch-lane.js";
import type { HttpReply, HttpRequest } from "./http/http-request.js";
import { HttpRouter } from "./http/http-router.js";
import { NodeReply, NodeRequest } from "./http/node-lane.js";
import { MemoryConnection } from "./memory-connection.js";
import { createPolicy } from "./policy/create-policy.js";
import { loadGatewayKeys } from "./replicas/gateway-key.js";
import { createMailbox } from "./replicas/mailbox.js";
import { createSeal } from "./replicas/seal.js";
import { createSharedNotes } from "./replicas/shared-notes.js";
import type { GatewayParts, ServedEvent } from "./request-context.js";
import { serveStdio } from "./serve-stdio.js";
import { Sessions } from "./sessions.js";
import { Feeds } from "./streams/feeds.js";
import { Users } from "./users.js";

/** Servers of a port as one MCP server. */
export interface Gateway {
  /** Serves a web request: Workers, Deno, Bun, Hono. */
  fetch(request: Request): Promise<Response>;
  /** Serves a request of `node:http`, Express or Fastify. Three times as fast as `fetch` on Node. */
  node(request: IncomingMessage, response: ServerResponse): void;
  /** Serves one client over standard input and output. Resolves when the client is gone and everything has ended. */
  stdio(): Promise<void>;
  /** A transport for a client in the same process. */
  memory(): Transport;
  /** Takes no new requests, lets open ones finish, and ends all streams. The port stays open. */
  close(options?: { drainMs?: number }): Promise<void>;
}

/** A gateway that has read its keys. */
interface Running {
  readonly parts: GatewayParts;
  readonly stop: () => Promise<void>;
}

/**
 * Offers the servers of a port as one MCP server.
 *
 * @example
 * ```ts
 * const gateway = createGateway(toolport, {
 *   url: "https://tools.example.com/mcp",
 *   auth: { issuer: "https://login.example.com" },
 * });
 * createServer((request, response) => gateway.node(request, response)).listen(8080);
 * ```
 */
export function createGateway(toolport: Toolport, options: GatewayOptions = {}): Gateway {
  const { drainMs = 10_000 } = options;
  let starting: Promise<Running> | undefined;
  let running: Running | undefined;
  let router: HttpRouter | undefined;
  let closing: Promise<void> | undefined;
  const lanes = new Set<{ close(drainMs: number): Promise<void> }>();
  const access = gatewayAccess(toolport);
  // Wrong options are reported at once, not with the first request.
  const authenticator = createHttpAuthenticator(options, access.plain.parts.warn);

  const start = (): Promise<Running> => {
    starting ??= begin(toolport, options, options.auth === undefined ? undefined : authenticator()).then(
      (begun) => {
        running = begun;
        return begun;
      },
      (error: unknown) => {
        starting = undefined;
        throw error;
      },
    );
    return starting;
  };

  const serve = (request: HttpRequest, reply: HttpReply): Promise<void> => {
    if (running !== undefined && router !== undefined) return router.handle(request, reply);
    return start().then(({ parts }) => {
      router ??= new HttpRouter(parts, authenticator(), options);
      return router.handle(request, reply);
    });
  };

  const failed = (reply: HttpReply) => (error: unknown) => {
    access.plain.parts.report(error);
    reply.send(503, { "content-type": "text/plain", "retry-after": "1" }, "The gateway cannot start");
  };

  return {
    fetch(request) {
      authenticator();
      const reply = new FetchReply(request.signal);
      serve(new FetchRequest(request), reply).catch(failed(reply));
      return reply.response;
    },
    node(request, response) {
      authenticator();
      const reply = new NodeReply(response);
      serve(new NodeRequest(request), reply).catch(failed(reply));
    },
    async stdio() {
      const { parts } = await start();
      await serveStdio(parts, { lanes, drainMs });
    },
    memory() {
      const connection = new MemoryConnection(async () => (await start()).parts, lanes);
      return connection.transport;
    },
    close({ drainMs: limitMs = drainMs } = {}) {
      closing ??= (async () => {
        const begun = await starting?.catch(() => undefined);
        await Promise.all([router?.close(limitMs), ...[...lanes].map((lane) => lane.close(limitMs))]);
        await begun?.stop();
      })();
      return closing;
    },
  };
}

/** Created when HTTP is used first: a gateway over stdio needs no credentials. Without `auth` it throws. */
function createHttpAuthenticator(
  options: GatewayOptions,
  warn: (server: string | undefined, message: string) => void,
): () => Authenticator {
  const create = () => createAuthenticator(options, { warn: (message) => warn(undefined, message) });
  let created = options.auth === undefined ? undefined : create();
  return () => {
    created ??= create();
    return created;
  };
}

async function begin(
  toolport: Toolport,
  options: GatewayOptions,
  authenticator: Authenticator | undefined,
): Promise<Running> {
  const access = gatewayAccess(toolport);
  const { settings, report } = access.plain.parts;
  const { store } = settings;
  const seal = createSeal(await loadGatewayKeys(store));
  const notes = createSharedNotes(store, "serve/session/");
  await notes.ready;
  const mailbox = createMailbox(store);
  const users = new Users(
    access,
    {
      maxUsers: options.maxUsers ?? 10_000,
      maxStreams: options.maxStreams ?? 10_000,
      userIdleMs: options.userIdleMs ?? 900_000,
      concurrency: options.concurrency ?? 64,
      rateLimit: options.rateLimit,
    },
    report,
  );
  const sessions = new Sessions(seal, notes);
  const feeds = new Feeds(access, report);
  const parked: GatewayParts["parked"] = new ParkedCalls(options.parkMs ?? 600_000);
  const policy = options.policy === undefined ? undefined : createPolicy(options.policy, settings.logger);
  policy?.onChange(() => feeds.changedForAll());
  const audit =
    options.audit === undefined
      ? undefined
      : await openAudit(options.audit, {
          mac: (purpose, text, like) => seal.mac(purpose, text, like),
          replica: mailbox.replica,
          logger: settings.logger,
        });
  const isWanted = compileFilter({ only: options.only, except: options.except, filter: options.filter });
  const parts: GatewayParts = {
    seal,
    notes,
    mailbox,
    users,
    sessions,
    feeds,
    parked,
    policy,
    questions: new Questions(mailbox),
    connect:
      authenticator &&
      createConnect({
        authenticator,
        seal,
        store,
        logins: createUpstreamLogins((principal) => access.portOf(principal)),
        callbackUrl: settings.callbackUrl?.toString(),
        warn: (message, server) => access.plain.parts.warn(server, message),
      }),
    audit: audit && ((event) => audit.record(auditEntry(event))),
    stateTtlMs: options.stateTtlMs ?? 600_000,
    baggage: options.baggage ?? false,
    offers: (principal, tool) => {
      const servers = options.servers?.(principal);
      if (servers !== undefined && !servers.includes(tool.server)) return false;
      return isWanted({ name: tool.server }, tool as never) === undefined;
    },
    report,
  };
  return {
    parts,
    async stop() {
      parked.close();
      feeds.close();
      sessions.close();
      users.close();
      policy?.close();
      await audit?.close();
      mailbox.close();
      notes.close();
    },
  };
}

const auditEntry = ({ client, request, facts, durationMs }: ServedEvent): AuditEntry => ({
  principal: client.principal,
  method: request.method,
  server: facts.server,
  tool: facts.tool,
  definition: facts.definition,
  args: facts.args,
  outcome: facts.outcome ?? "ok",
  code: facts.errorCode,
  durationMs,
});
