/** What servers may ask of the client, served by the options of the port; nothing is advertised that nothing serves. */
import type { Client, ClientCapabilities } from "@modelcontextprotocol/client";
import { answerElicitation, elicitationCapability } from "./elicitation.js";
import {
  type Answers,
  RELATED_TASK_META_KEY,
  RequestDesk,
  type RequestMethod,
  relatedTask,
} from "./request-desk.js";
import { answerRoots, assertRoots, rootsCapability } from "./roots.js";
import { answerSampling, samplingCapability } from "./sampling.js";
import type { ServerLogListener } from "./server-log.js";
import type { ServerRequestOptions } from "./server-request-options.js";

/** What the port gives: its options, and an ear. */
export interface ServerRequestParts extends ServerRequestOptions {
  /** Told of failures that reach no caller. */
  report(error: unknown): void;
  /** Whose connections these are. */
  principal?: string | undefined;
}

/** Everything servers may ask for; one for all connections of a port. */
export interface ServerRequests {
  /** What to tell servers about this client. */
  readonly capabilities: ClientCapabilities;
  /** Serves the requests and log messages that a client receives. To be called before the client connects. */
  attach(client: Client, server: string): AttachedRequests;
  /** Tells the servers that want to know that the roots have changed. Modern servers ask whenever they need them. */
  rootsChanged(): Promise<void>;
}

/** The requests of one connection. */
export interface AttachedRequests {
  readonly desk: RequestDesk;
  /** The handshake is done: from now on, until the connection is gone, its server is told about changes. */
  opened(closed: Promise<unknown>): void;
}

export function createServerRequests(options: ServerRequestParts): ServerRequests {
  const { onElicitation, onSampling, roots, onLog, report, principal } = options;
  assertRoots(roots);
  const capabilities = capabilitiesOf(options);
  const open = new Set<Client>();
  const answers: Answers = {
    "elicitation/create": (params, origin) =>
      answerElicitation(params, origin, { option: onElicitation, report }),
    "sampling/createMessage": (params, origin) => answerSampling(params, origin, onSampling),
    "roots/list": (_params, origin) => answerRoots(origin, roots),
  };

  return {
    capabilities,
    attach(client, server) {
      const desk = new RequestDesk({ server, principal, answers, report });
      for (const method of METHODS) {
        if (capabilities[CAPABILITY[method]] !== undefined) serve(client, method, desk);
      }
      if (onLog !== undefined) listen(client, { server, onLog, report });
      return {
        desk,
        opened(closed) {
          open.add(client);
          closed.then(() => open.delete(client));
        },
      };
    },
    async rootsChanged() {
      if (capabilities.roots === undefined) return;
      const legacy = [...open].filter((client) => client.getProtocolEra() !== "modern");
      // A server that is just going away need not know.
      await Promise.all(legacy.map((client) => client.sendRootsListChanged().catch(report)));
    },
  };
}

const CAPABILITY = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
} as const satisfies Record<RequestMethod, keyof ClientCapabilities>;

const METHODS = Object.keys(CAPABILITY) as RequestMethod[];

function capabilitiesOf(options: ServerRequestOptions): ClientCapabilities {
  const { onElicitation, onSampling, roots, extensions } = options;
  const elicitation = elicitationCapability(onElicitation);
  const sampling = samplingCapability(onSampling);
  const rootsOffered = rootsCapability(roots);
  return {
    ...(elicitation && { elicitation }),
    ...(sampling && { sampling }),
    ...(rootsOffered && { roots: rootsOffered }),
    ...(extensions && { extensions: extensions as NonNullable<ClientCapabilities["extensions"]> }),
  };
}

function serve(client: Client, method: RequestMethod, desk: RequestDesk): void {
  // The SDK types a handler by its method; ours is the same for all three.
  const register = client.setRequestHandler.bind(client) as unknown as (
    method: string,
    handler: (
      request: { params?: Record<string, unknown> },
      context: { mcpReq: { signal: AbortSignal } },
    ) => Promise<Record<string, unknown>>,
  ) => void;
  register(method, async ({ params }, { mcpReq }) => {
    const answer = await desk.answerMessage({ method, params }, mcpReq.signal);
    const related = relatedTask({ method, params });
    if (related === undefined) return answer;
    return { ...answer, _meta: { ...(answer["_meta"] as object), [RELATED_TASK_META_KEY]: related } };
  });
}

function listen(
  client: Client,
  { server, onLog, report }: { server: string; onLog: ServerLogListener; report: (error: unknown) => void },
): void {
  client.setNotificationHandler("notifications/message", ({ params: { level, logger, data } }) => {
    try {
      onLog({ server, level, ...(logger !== undefined && { logger }), data });
    } catch (error) {
      report(error);
    }
  });
}
