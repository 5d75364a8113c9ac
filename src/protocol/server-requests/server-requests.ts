/** What servers may ask of the client, served by the options of the port; nothing is advertised that nothing serves. */
import type { Client, ClientCapabilities } from "@modelcontextprotocol/client";
import { isLogLevel } from "../../model/log-levels.js";
import { callSafely } from "../../util/call-safely.js";
import type { Lane } from "../request-channel.js";
import { answerElicitation, elicitationCapability } from "./elicitation.js";
import {
  type Answers,
  RELATED_TASK_META_KEY,
  RequestDesk,
  type RequestMethod,
  relatedTask,
} from "./request-responder.js";
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
  /** Serves the requests and log messages of one connection. To be called before the handshake. */
  attach(lane: Lane, server: string): AttachedRequests;
  /** Tells the servers that want to know that the roots have changed. Modern servers ask whenever they need them. */
  rootsChanged(): Promise<void>;
}

/** The requests of one connection. */
export interface AttachedRequests {
  readonly desk: RequestDesk;
  /** Registers what is served with the SDK's client, which takes the requests off the wire. */
  serve(client: Client): void;
  /** The handshake is done in the legacy era: from now on, until the connection is gone, its server is told about changes. */
  opened(): void;
}

export function createServerRequests(options: ServerRequestParts): ServerRequests {
  const { onElicitation, onSampling, roots, onLog, report, principal } = options;
  assertRoots(roots);
  const capabilities = capabilitiesOf(options);
  const open = new Set<Lane>();
  const answers: Answers = {
    "elicitation/create": (params, origin) =>
      answerElicitation(params, origin, { option: onElicitation, report }),
    "sampling/createMessage": (params, origin) => answerSampling(params, origin, onSampling),
    "roots/list": (_params, origin) => answerRoots(origin, roots),
  };

  return {
    capabilities,
    attach(lane, server) {
      const desk = new RequestDesk({ server, principal, answers, report });
      if (onLog !== undefined) listen(lane, { server, onLog, report });
      return {
        desk,
        serve(client) {
          for (const method of METHODS) {
            if (capabilities[CAPABILITY[method]] !== undefined) serve(client, method, desk);
          }
        },
        opened() {
          open.add(lane);
          lane.closed.then(() => open.delete(lane));
        },
      };
    },
    async rootsChanged() {
      if (capabilities.roots === undefined) return;
      // A server that is just going away need not know.
      const tell = (lane: Lane) => lane.notify("notifications/roots/list_changed").catch(report);
      await Promise.all([...open].map(tell));
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
  lane: Lane,
  { server, onLog, report }: { server: string; onLog: ServerLogListener; report: (error: unknown) => void },
): void {
  lane.hearers.add((method, params) => {
    const { level, logger, data } = params;
    if (method !== "notifications/message" || !isLogLevel(level)) return;
    const { secrets } = lane;
    const said =
      secrets === undefined ? { logger, data } : (secrets.redactData({ logger, data }) as typeof params);
    const message = {
      ...{ server, level, data: said["data"] },
      ...(typeof said["logger"] === "string" && { logger: said["logger"] }),
    };
    callSafely(() => onLog(message), report);
  });
}
