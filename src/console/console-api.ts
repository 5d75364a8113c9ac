/** Types of the JSON that the console's page and its server exchange. */

/** A server as the page shows it. */
export interface ServerView {
  readonly name: string;
  readonly state: string;
  /** Disabled in its configuration. */
  readonly disabled: boolean;
  /** URL without its query, or the command that starts it. */
  readonly address: string;
  readonly transport: string;
  readonly protocolVersion: string | null;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  readonly instructions: string | null;
  readonly capabilities: readonly string[];
  /** Clients may subscribe to its resources. */
  readonly canSubscribe: boolean;
  readonly toolCount: number;
  /** Why its list of tools is incomplete. */
  readonly cut: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly attempt: number | null;
  /** Epoch milliseconds. */
  readonly retryAt: number | null;
  readonly breaker: {
    readonly state: string;
    readonly failures: number;
    readonly openUntil: number | null;
  } | null;
  /** The login page, while a login is required. */
  readonly authUrl: string | null;
  /** Servers that are called when this one fails. */
  readonly fallback: readonly string[];
  /** Where the server is configured. */
  readonly source: string | null;
  readonly latency: LatencyView | null;
  /** Connecting it starts a program that the user has not agreed to yet. */
  readonly needsConsent: boolean;
}

/** The last hour of a server. The arrays have one value per minute, oldest first. */
export interface ServerHistoryView {
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  /** Average in milliseconds; null for a minute without calls. */
  readonly latencies: readonly (number | null)[];
  /** Changes of the state, oldest first. The first may be older than an hour. */
  readonly states: readonly { readonly at: number; readonly state: string }[];
}

export interface HistoryView {
  /** The end of the last minute, in epoch milliseconds. */
  readonly until: number;
  readonly servers: Readonly<Record<string, ServerHistoryView>>;
}

/** Latency of a server over its last calls. */
export interface LatencyView {
  readonly p50: number;
  readonly p95: number;
  readonly calls: number;
}

/** The state of all servers. */
export interface StateView {
  readonly principal: string | null;
  readonly servers: readonly ServerView[];
  /** Increases when tools, resources or prompts change. */
  readonly catalogVersion: number;
  readonly hasStore: boolean;
  /** The page can answer servers and edit the roots. */
  readonly canAnswer: boolean;
  readonly subscriptions: readonly SubscriptionView[];
  readonly version: string;
}

/** A resource that the page is subscribed to. */
export interface SubscriptionView {
  readonly server: string;
  readonly uri: string;
  readonly updates: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number | null;
}

export interface ToolSummary {
  readonly name: string;
  readonly server: string;
  readonly sourceName: string;
  readonly title: string | null;
  readonly description: string;
  /** Estimated tokens of its definition; 0 if models do not get it. */
  readonly tokens: number;
  /** Models see its definition only after a search. */
  readonly deferred: boolean;
  /** Why the tool has another name than expected. */
  readonly nameIssue: string | null;
  /** Invisible characters found in its texts. */
  readonly textFinding: string | null;
  /** It has a user interface. */
  readonly hasApp: boolean;
}

export interface CatalogView {
  readonly version: number;
  readonly tools: readonly ToolSummary[];
  readonly withheld: readonly { readonly server: string; readonly name: string; readonly reason: string }[];
  readonly resources: readonly ResourceView[];
  readonly templates: readonly ResourceView[];
  readonly prompts: readonly PromptView[];
}

/** A resource or a resource template. */
export interface ResourceView {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string | null;
}

export interface PromptView {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
}

/** A tool with its schemas. */
export interface ToolView extends ToolSummary {
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly annotations: unknown;
  /** It can run as a task. */
  readonly canBeTask: boolean;
}

/** The user interface of a tool. */
export interface AppView {
  readonly id: string;
  /** Where its document can be loaded, once. */
  readonly path: string;
  readonly server: string;
  /** The tool, as its server calls it. */
  readonly tool: { readonly name: string; readonly title: string; readonly inputSchema: unknown };
  /** Declared origins that the app cannot reach. */
  readonly refused: readonly string[];
}

/** A call in the list. */
export interface CallSummary {
  readonly id: number;
  readonly kind: string;
  /** The server that was called first. */
  readonly server: string;
  /** Tool, prompt or URI. */
  readonly target: string;
  readonly principal: string | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly outcome: "running" | "ok" | "error" | "tool_error" | "suspended";
  readonly durationMs: number | null;
  readonly attempts: number | null;
  /** The server that responded, if it is a fallback. */
  readonly answeredBy: string | null;
  /** The person or program that answered or approved a suspended call. */
  readonly person: string | null;
  readonly error: string | null;
  readonly canReplay: boolean;
  /** It runs, and the page can cancel it, whatever started it. */
  readonly canCancel: boolean;
  /** Set for calls that a page started: its own id of the call. */
  readonly run: string | null;
  /** The last progress. */
  readonly progress: ProgressView | null;
}

export interface ProgressView {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
}

/** A task that runs on a server. */
export interface TaskView {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly createdAt: string;
  readonly status: string;
  readonly message: string | null;
  /** The last progress, while the page waits for the result. */
  readonly progress: ProgressView | null;
}

/** A call with arguments and result, redacted and limited in size. */
export interface CallView extends CallSummary {
  readonly args: unknown;
  readonly result: unknown;
  readonly tries: readonly {
    readonly server: string;
    readonly durationMs: number;
    readonly error: string | null;
  }[];
}

/** A question of a server to the user. */
export type QuestionView = { readonly key: string; readonly message: string } & (
  | { readonly mode: "form"; readonly requestedSchema: unknown }
  | { readonly mode: "url"; readonly url: string; readonly host: string; readonly isPunycode: boolean }
);

/** A request of a server that the user of the page answers while a call runs. */
export type ServerQuestionView = {
  readonly id: string;
  readonly at: number;
  readonly server: string;
  /** The tool that led to it, as its server calls it. */
  readonly tool: string | null;
  readonly principal: string | null;
} & (
  | { readonly kind: "elicitation"; readonly question: QuestionView }
  | { readonly kind: "sampling"; readonly request: unknown }
);

/** A call that waits for a person. */
export interface WaitingView {
  /** Derived from its token, and useless without the console. */
  readonly id: string;
  readonly reason: "input" | "approval" | "login";
  readonly server: string;
  /** Public name. */
  readonly tool: string;
  readonly args: unknown;
  readonly round: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** With `reason: "input"`. */
  readonly questions: readonly QuestionView[];
  /** With `reason: "login"`. */
  readonly authUrl: string | null;
}

/** The next round of a call, or its result. */
export type ResumedView = { readonly next: WaitingView } | { readonly result: unknown };

/** An entry of the activity list. */
export interface ActivityView {
  readonly id: number;
  readonly at: number;
  readonly kind: "state" | "warning" | "log" | "change";
  readonly server: string | null;
  readonly text: string;
}

/** Kinds of entries in the list of messages. */
export type TrafficKind = "request" | "response" | "error" | "notification" | "stderr" | "auth";

/** A message, a line of stderr, or a request to an authorization server. */
export interface TrafficEntry {
  readonly id: number;
  readonly at: number;
  readonly server: string;
  readonly kind: TrafficKind;
  readonly direction: "sent" | "received";
  /** The method, the line, or what the request is for. */
  readonly label: string;
  /** Approximate size in characters. */
  readonly size: number;
  /** With a response: the time since the request. */
  readonly durationMs?: number | undefined;
}

/** An entry with its content, redacted and limited in size. */
export interface TrafficView extends TrafficEntry {
  readonly content: unknown;
}

export interface LoginView {
  readonly server: string;
  /** The port manages logins of this server. */
  readonly managed: boolean;
  readonly authorized: boolean;
  readonly issuer: string | null;
  readonly scopes: string | null;
  readonly expiresAt: number | null;
  readonly error: string | null;
}

export interface RecordView {
  readonly key: string;
  readonly version: number;
  readonly sealed: boolean;
  readonly bytes: number;
}

export interface RecordsView {
  readonly records: readonly RecordView[];
  readonly total: number;
}

/** An event of the stream, one JSON value per line. */
export type ConsoleEvent =
  | {
      readonly type: "hello";
      readonly calls: readonly CallSummary[];
      readonly activity: readonly ActivityView[];
      readonly questions: readonly ServerQuestionView[];
    }
  | { readonly type: "state"; readonly state: StateView }
  | { readonly type: "call"; readonly call: CallSummary }
  | { readonly type: "activity"; readonly entry: ActivityView }
  /** New messages, oldest first. With `skipped`, that many before them were not sent to the page. */
  | { readonly type: "traffic"; readonly entries: readonly TrafficEntry[]; readonly skipped: number }
  /** The open questions of servers. */
  | { readonly type: "questions"; readonly questions: readonly ServerQuestionView[] }
  /** The calls that wait have changed. */
  | { readonly type: "waiting" }
  /** Programs have started, changed or ended. */
  | { readonly type: "programs" }
  /** Events were dropped, because the page could not receive them in time. */
  | { readonly type: "missed"; readonly count: number }
  | { readonly type: "beat" };

/** A program that would be started, with its command without secrets. */
export interface StartCommand {
  readonly server: string;
  readonly command: string;
}

/** The response to a failed action. */
export interface ConsoleFailure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** With `CONSENT_NEEDED`: the programs that would be started. */
    readonly commands?: readonly StartCommand[];
    /** With `INVALID_ARGUMENTS`: the invalid fields. */
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
  };
}
