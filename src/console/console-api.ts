/** What the console's page and its server say to each other: plain data, nothing but types. */

/** A server as the page shows it. */
export interface ServerView {
  readonly name: string;
  readonly state: string;
  /** URL without its query, or the command that starts it. */
  readonly address: string;
  readonly transport: string;
  readonly protocolVersion: string | null;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  readonly instructions: string | null;
  readonly capabilities: readonly string[];
  readonly toolCount: number;
  /** Why its list of tools is not whole. */
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
  /** The login page, while somebody has to authorize. */
  readonly authUrl: string | null;
  /** Who is asked in its place when it fails. */
  readonly fallback: readonly string[];
  /** Where it was configured. */
  readonly source: string | null;
  readonly latency: LatencyView | null;
  /** Bringing it up starts a program that nobody has agreed to yet. */
  readonly needsConsent: boolean;
}

/** How long a server took to answer, over its last calls. */
export interface LatencyView {
  readonly p50: number;
  readonly p95: number;
  readonly calls: number;
}

/** Everything about servers. */
export interface StateView {
  readonly principal: string | null;
  readonly servers: readonly ServerView[];
  /** Grows when tools, resources or prompts changed. */
  readonly catalogVersion: number;
  readonly hasStore: boolean;
  readonly version: string;
}

export interface ToolSummary {
  readonly name: string;
  readonly server: string;
  readonly sourceName: string;
  readonly title: string | null;
  readonly description: string;
  /** Why it is not called what it would be called. */
  readonly nameIssue: string | null;
  /** Characters that nobody can see, found in its texts. */
  readonly textFinding: string | null;
}

export interface CatalogView {
  readonly version: number;
  readonly tools: readonly ToolSummary[];
  readonly withheld: readonly { readonly server: string; readonly name: string; readonly reason: string }[];
  readonly resources: readonly ResourceView[];
  readonly templates: readonly ResourceView[];
  readonly prompts: readonly PromptView[];
}

/** A resource, or a template of resources. */
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

/** One tool with all there is to know. */
export interface ToolView extends ToolSummary {
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly annotations: unknown;
}

/** A call in the list. */
export interface CallSummary {
  readonly id: number;
  readonly kind: string;
  /** The server asked first. */
  readonly server: string;
  /** Tool, prompt or address. */
  readonly target: string;
  readonly principal: string | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly outcome: "running" | "ok" | "error" | "tool_error";
  readonly durationMs: number | null;
  readonly attempts: number | null;
  /** Who answered, if that is not who was asked. */
  readonly answeredBy: string | null;
  readonly error: string | null;
  readonly canReplay: boolean;
}

/** A call with its arguments and its result, secrets taken out and cut to size. */
export interface CallView extends CallSummary {
  readonly args: unknown;
  readonly result: unknown;
  readonly tries: readonly {
    readonly server: string;
    readonly durationMs: number;
    readonly error: string | null;
  }[];
}

/** A line of what happened. */
export interface ActivityView {
  readonly id: number;
  readonly at: number;
  readonly kind: "state" | "warning" | "log" | "change";
  readonly server: string | null;
  readonly text: string;
}

export interface LoginView {
  readonly server: string;
  /** Logins are the port's work at this server. */
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

/** What comes down the stream, one JSON value a line. */
export type ConsoleEvent =
  | {
      readonly type: "hello";
      readonly calls: readonly CallSummary[];
      readonly activity: readonly ActivityView[];
    }
  | { readonly type: "state"; readonly state: StateView }
  | { readonly type: "call"; readonly call: CallSummary }
  | { readonly type: "activity"; readonly entry: ActivityView }
  /** More happened than could be sent. */
  | { readonly type: "missed"; readonly count: number }
  | { readonly type: "beat" };

/** A program that would be started; its command as far as it may be shown. */
export interface StartCommand {
  readonly server: string;
  readonly command: string;
}

/** An answer that is no success. */
export interface ConsoleFailure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** With `CONSENT_NEEDED`: what would be started. */
    readonly commands?: readonly StartCommand[];
    /** With `INVALID_ARGUMENTS`: what is wrong, and where. */
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
  };
}
