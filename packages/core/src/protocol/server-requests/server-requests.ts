/** Serves the requests and log messages of servers with the callbacks that the user configured. Only what is configured is advertised. */

import type { Client, ClientCapabilities, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { BoundedMap, callSafely, isLogLevel } from "@toolport/base";
import type { CallsInFlight } from "../calls-in-flight.js";
import type { RequestChannel } from "../request-channel.js";
import { elicitationCapability, handleElicitation } from "./elicitation.js";
import type { QuestionMethod, QuestionTasks } from "./question-tasks.js";
import {
  RELATED_TASK_META_KEY,
  type RequestHandlers,
  type RequestMethod,
  RequestResponder,
  relatedTask,
} from "./request-responder.js";
import {
  assertRoots,
  handleRoots,
  handleSampling,
  rootsCapability,
  samplingCapability,
} from "./sampling-and-roots.js";
import type { ServerLogListener, ServerRequestOptions } from "./server-request-options.js";

interface ServerRequestParts extends ServerRequestOptions {
  /** Receives failures that no caller can see. */
  report(error: unknown): void;
  /** The user that the connections belong to. */
  principal?: string | undefined;
}

/** Server requests of all connections of a Toolport instance. */
export interface ServerRequests {
  /** The client capabilities to advertise. `tasks` concerns servers of 2025-11-25 only. */
  readonly capabilities: ClientCapabilities;
  /** Serves one connection. Must be called before the handshake. */
  attach(channel: RequestChannel, server: string): AttachedRequests;
  /** Notifies the connected legacy servers that the roots have changed. Modern servers request them when needed. */
  rootsChanged(): Promise<void>;
}

/** Server requests of one connection. */
interface AttachedRequests {
  readonly responder: RequestResponder;
  /** False: no method is advertised, so no request of the server reaches the responder. */
  readonly isServing: boolean;
  /** Registers the handlers with the SDK's client, which receives the requests. */
  serve(client: Client): void;
  /** Set if the questions of the server are answered by those who call it. */
  readonly calls?: CallsInFlight | undefined;
  /** Call after a legacy handshake: the server is notified of changed roots until its connection closes. */
  opened(): void;
}

export function createServerRequests(options: ServerRequestParts): ServerRequests {
  const { onElicitation, onSampling, roots, onLog, report, principal } = options;
  assertRoots(roots);
  const capabilities = capabilitiesOf(options);
  const open = new Set<RequestChannel>();
  const served = METHODS.filter((method) => capabilities[CAPABILITY[method]] !== undefined);
  const handlers: RequestHandlers = {
    "elicitation/create": (params, origin) =>
      handleElicitation(params, origin, { option: onElicitation, report }),
    "sampling/createMessage": (params, origin) => handleSampling(params, origin, onSampling),
    "roots/list": (_params, origin) => handleRoots(origin, roots),
  };

  return {
    capabilities,
    attach(channel, server) {
      const responder = new RequestResponder({ server, principal, handlers, report });
      const owners: Owners = new BoundedMap(MAX_OWNERS);
      if (served.length > 0)
        receiveRequests(channel, { responder, owners, methods: served.filter(isQuestion) });
      if (onLog !== undefined) forwardLogs(channel, { server, onLog, report });
      return {
        responder,
        isServing: served.length > 0,
        serve(client) {
          for (const method of served) serve(client, method, { responder, owners });
        },
        opened() {
          open.add(channel);
          channel.closed.then(() => open.delete(channel));
        },
      };
    },
    async rootsChanged() {
      if (capabilities.roots === undefined) return;
      const notify = (channel: RequestChannel) =>
        channel.notify("notifications/roots/list_changed").catch(report);
      await Promise.all([...open].map(notify));
    },
  };
}

const CAPABILITY = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
} as const satisfies Record<RequestMethod, keyof ClientCapabilities>;

const METHODS = Object.keys(CAPABILITY) as RequestMethod[];

const isQuestion = (method: RequestMethod): method is QuestionMethod => method !== "roots/list";

function capabilitiesOf(options: ServerRequestOptions): ClientCapabilities {
  const { onElicitation, onSampling, roots, extensions } = options;
  const elicitation = elicitationCapability(onElicitation);
  const sampling = samplingCapability(onSampling);
  const rootsOffered = rootsCapability(roots);
  return {
    ...(elicitation && { elicitation }),
    ...(sampling && { sampling }),
    ...(rootsOffered && { roots: rootsOffered }),
    ...((elicitation ?? sampling) && {
      tasks: {
        list: {},
        cancel: {},
        requests: {
          ...(elicitation && { elicitation: { create: {} } }),
          ...(sampling && { sampling: { createMessage: {} } }),
        },
      },
    }),
    ...(extensions && { extensions: extensions as NonNullable<ClientCapabilities["extensions"]> }),
  };
}

/** The owners of the requests on whose streams the last messages arrived, by the id of the message. */
type Owners = Map<RequestId, object>;

/** More requests are not open at the same time. */
const MAX_OWNERS = 64;

/** The SDK's client does not tell its handlers on which stream a request arrived, and does not support tasks. */
function receiveRequests(
  channel: RequestChannel,
  parts: { responder: RequestResponder; owners: Owners; methods: readonly QuestionMethod[] },
): void {
  const { responder, owners, methods } = parts;
  /** Loaded with the first question that is a task: few servers send any. */
  let tasks: Promise<QuestionTasks> | undefined;
  channel.onrequest = (request, origin) => {
    const owner = channel.ownerOf(origin);
    if (channel.envelope === undefined && isTaskRequest(request, methods)) {
      tasks ??= import("./question-tasks.js").then((code) => new code.QuestionTasks(channel, responder));
      // If the code cannot be loaded, the request stays unanswered, as without the SDK's client.
      tasks.then(
        (loaded) => loaded.receive(request, owner),
        () => {
          tasks = undefined;
        },
      );
      return true;
    }
    if (owner === undefined) return false;
    owners.set(request.id, owner);
    return false;
  };
}

/** A question that a legacy server sends as a task, or a request about such tasks. Modern servers send no requests. */
function isTaskRequest({ method, params }: JSONRPCRequest, methods: readonly QuestionMethod[]): boolean {
  if (method.startsWith("tasks/")) return methods.length > 0;
  return (methods as readonly string[]).includes(method) && Object(params?.["task"]) === params?.["task"];
}

function serve(
  client: Client,
  method: RequestMethod,
  { responder, owners }: { responder: RequestResponder; owners: Owners },
): void {
  // The SDK types handlers by method; this one handler serves all three.
  const register = client.setRequestHandler.bind(client) as unknown as (
    method: string,
    handler: (
      request: { params?: Record<string, unknown> },
      context: { mcpReq: { id: RequestId; signal: AbortSignal } },
    ) => Promise<Record<string, unknown>>,
  ) => void;
  register(method, async ({ params }, { mcpReq }) => {
    const owner = owners.get(mcpReq.id);
    owners.delete(mcpReq.id);
    const result = await responder.respondToMessage({ method, params }, mcpReq.signal, owner);
    const related = relatedTask({ method, params });
    if (related === undefined) return result;
    return { ...result, _meta: { ...(result["_meta"] as object), [RELATED_TASK_META_KEY]: related } };
  });
}

function forwardLogs(
  channel: RequestChannel,
  { server, onLog, report }: { server: string; onLog: ServerLogListener; report: (error: unknown) => void },
): void {
  channel.notificationListeners.add((method, params) => {
    const { level, logger, data } = params;
    if (method !== "notifications/message" || !isLogLevel(level)) return;
    const { secrets } = channel;
    const redacted =
      secrets === undefined ? { logger, data } : (secrets.redactData({ logger, data }) as typeof params);
    const message = {
      server,
      level,
      data: redacted["data"],
      ...(typeof redacted["logger"] === "string" && { logger: redacted["logger"] }),
    };
    callSafely(() => onLog(message), report);
  });
}
