/** What the handlers of requests share. */

import type { Fields, ToolInfo } from "@toolport/base";
import type { CodeMode } from "@toolport/code";
import type { Store } from "@toolport/stores";
import type { Audit, AuditEntry } from "./audit/open-audit.js";
import type { Connect } from "./auth/connect.js";
import type { InterruptibleCall, ParkedCalls } from "./calls/parked-calls.js";
import type { Questions } from "./calls/questions.js";
import type { UserTasks } from "./calls/user-tasks.js";
import { Refusal } from "./faults.js";
import type { AskClient, ClientRequest, Exchange, GatewayClient } from "./message.js";
import type { Policy } from "./policy/policy.js";
import type { RuleReview } from "./policy/review-rules.js";
import type { Mailbox } from "./replicas/mailbox.js";
import type { Seal } from "./replicas/seal.js";
import type { SharedNotes } from "./replicas/shared-notes.js";
import type { Json } from "./results.js";
import type { Sessions } from "./sessions.js";
import type { Feeds } from "./streams/feeds.js";
import type { GatewayUser, GatewayUsers } from "./users.js";

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
  readonly users: GatewayUsers;
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
  readonly audit: Pick<Audit, "space" | "record"> | undefined;
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
   * @param ask asks the client while a call of a program waits. @default on the stream of the request
   */
  open(context: RequestContext, ask?: AskClient): Pick<CodeMode, "tools" | "callTool">;
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
}

/** What the audit log says about a request. */
export type RequestFacts = Partial<Omit<AuditEntry, "principal" | "method" | "durationMs">>;

/** The end of a request that has a result. */
export interface Handled {
  /** The JSON of the result. */
  readonly json: Json;
  /** @default the outcome is `ok` */
  readonly facts?: RequestFacts | undefined;
}

/** The end of a request that fails. */
export class FailedRequest extends Error {
  constructor(
    /** What the client learns. */
    readonly reason: unknown,
    readonly facts: RequestFacts,
  ) {
    super("The request failed");
  }
}

/** Runs a part of a request, and adds facts to its end. What is said inside takes precedence. */
export async function withFacts(
  facts: RequestFacts,
  run: () => Handled | Promise<Handled>,
): Promise<Handled> {
  try {
    const handled = await run();
    // With spreads the row "echo call → stdio" of `bench/README.md` takes 5 % more.
    return { json: handled.json, facts: Object.assign({}, facts, handled.facts) };
  } catch (error) {
    const failed = failureOf(error);
    throw new FailedRequest(failed.reason, { ...facts, ...failed.facts });
  }
}

/** What was thrown, and what is known about it. */
export function failureOf(error: unknown): Pick<FailedRequest, "reason" | "facts"> {
  if (error instanceof FailedRequest) return error;
  return { reason: error, facts: error instanceof Refusal ? { outcome: "refused" } : {} };
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
  /** Sends the request. Without `ask` the client is asked on the stream of its request, if at all. */
  run(signal: AbortSignal, ask: AskClient | undefined): Promise<CallOutcome>;
  /** The result for the client that waits now. */
  finish(context: RequestContext, outcome: CallOutcome): Handled | Promise<Handled>;
  /** The result for a failed request; throws if it has none. */
  fail(context: RequestContext, error: unknown): Handled | Promise<Handled>;
  /** What the policy and the audit log know about the request. */
  readonly facts: RequestFacts;
}

/** A request that is open at its server. */
export interface OpenCall {
  readonly call: InterruptibleCall<CallOutcome>;
  readonly parkable: Parkable;
  /** Ends the request. */
  readonly abandon: (reason: unknown) => void;
}
