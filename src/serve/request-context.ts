/** What the handlers of requests share. */
import type { CodeMode } from "../code/code-mode.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { Store } from "../state/store.js";
import type { Fields } from "../util/json.js";
import type { AuditOutcome } from "./audit/audit-event.js";
import type { Audit } from "./audit/open-audit.js";
import type { Connect } from "./auth/connect.js";
import type { InterruptibleCall, ParkedCalls } from "./calls/parked-calls.js";
import type { Questions } from "./calls/questions.js";
import type { UserTasks } from "./calls/user-tasks.js";
import type { AskClient, Exchange, GatewayClient } from "./client.js";
import type { ClientRequest } from "./message.js";
import type { Policy } from "./policy/policy.js";
import type { RuleReview } from "./policy/review-rules.js";
import type { Mailbox } from "./replicas/mailbox.js";
import type { Seal } from "./replicas/seal.js";
import type { SharedNotes } from "./replicas/shared-notes.js";
import type { Sessions } from "./sessions.js";
import type { Feeds } from "./streams/feeds.js";
import type { GatewayUser, Users } from "./users.js";

/** The parts of a running gateway that handlers use. */
export interface GatewayParts {
  /** Shared by all replicas. */
  readonly store: Store;
  readonly seal: Seal;
  readonly mailbox: Mailbox;
  readonly notes: SharedNotes;
  readonly questions: Questions;
  readonly parked: ParkedCalls<OpenCall>;
  readonly tasks: UserTasks;
  readonly feeds: Feeds;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly policy: Policy | undefined;
  /** Whether the policy reads the URIs of resources, so that each may have one reading only. */
  readsUris(): boolean;
  /** Compares the rules with the tools that servers list. */
  readonly review: Pick<RuleReview, "listed">;
  /** Set if clients call the tools in programs only. */
  readonly code: GatewayCode | undefined;
  /** Pages on which users log in at servers. Undefined without users. */
  readonly connect: Connect | undefined;
  readonly stateTtlMs: number;
  /** All clients see the same: requests need no credential, and nothing decides by user. */
  readonly isSameForAll: boolean;
  /** Whether `baggage` of clients is passed on. */
  readonly baggage: boolean;
  readonly audit: ServedAudit | undefined;
  /** Whether a user may see the tools of a server at all. */
  offers(principal: string | undefined, tool: ToolInfo): boolean;
  /** False if the policy or `servers` hides the whole server from the user. Asks neither servers nor outside engines. */
  showsServer(client: Pick<GatewayClient, "principal" | "scopes">, server: string): boolean;
  /** Whether the store can be reached. */
  isReady(): Promise<boolean>;
  report(error: unknown): void;
}

/** Code mode of a gateway: clients call the tools in programs. */
export interface GatewayCode {
  /** Whether code mode has a tool of this name. */
  isOffered(name: string): boolean;
  /**
   * The code mode of one request: its client decides which tools there are. Needs no `close()`.
   *
   * @param answer asks the client while a call of a program waits. @default on the stream of the request
   */
  open(context: RequestContext, answer?: AskClient): Pick<CodeMode, "tools" | "callTool">;
  /** Ends the worker threads. */
  close(): Promise<void>;
}

/** One request while it is served. */
export interface RequestContext {
  readonly parts: GatewayParts;
  readonly user: GatewayUser;
  readonly client: GatewayClient;
  readonly exchange: Exchange;
  readonly request: ClientRequest;
  /** Of the HTTP request. */
  readonly bodyBytes: number;
  /** Filled in for the audit log. */
  readonly facts: RequestFacts;
}

/** What the audit log says about a request. */
export interface RequestFacts {
  server?: string | undefined;
  tool?: string | undefined;
  args?: Fields | undefined;
  definition?: Fields | undefined;
  outcome?: AuditOutcome | undefined;
  errorCode?: string | number | undefined;
}

/** The audit log as handlers of requests use it. */
type ServedAudit = Pick<Audit, "space"> & { record(event: ServedEvent): void };

/** One served request. */
export interface ServedEvent {
  readonly client: Pick<GatewayClient, "principal">;
  readonly request: ClientRequest;
  readonly facts: RequestFacts;
  readonly durationMs: number;
}

/** The end of a request at its server. */
export interface CallOutcome {
  readonly fields: Fields;
  /** The server that answered. */
  readonly server: string;
  readonly resultType?: string | undefined;
}

/** A request that may be parked. */
export interface Parkable {
  /** What the request is about, e.g. the name and the arguments of a tool. The next request must be about the same. */
  readonly identity: unknown;
  /** Answers that the client sent before it was asked. */
  readonly inputResponses: Fields | undefined;
  /** Sends the request. `answer` is undefined if the client answers in another way. */
  run(signal: AbortSignal, answer: AskClient | undefined): Promise<CallOutcome>;
  /** The text of the result for the client that waits now. */
  finish(context: RequestContext, outcome: CallOutcome): string | Promise<string>;
  /** The text of the result for a failed request, or the error to throw. */
  fail(context: RequestContext, error: unknown): string;
}

/** A request that is open at its server. */
export interface OpenCall {
  readonly call: InterruptibleCall<CallOutcome>;
  readonly parkable: Parkable;
  /** What the audit log says about the request that began it. */
  readonly facts: RequestFacts;
  /** Ends the request. */
  readonly abandon: (reason: unknown) => void;
}
