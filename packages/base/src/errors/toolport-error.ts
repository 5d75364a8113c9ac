/** The errors of Toolport: who failed is the class, why is the code. */
import { visibleLine } from "../util/visible-text.js";

const marker = Symbol.for("toolport.error");

/** Whether the server may have run the failed request. */
export type Outcome = "unsent" | "unknown";

/** Properties of a new error. */
export interface ToolportErrorInit<Code extends string = string> {
  /** Machine-readable reason. */
  code: Code;
  /** What happened, one sentence without a full stop. */
  what: string;
  /** What to do next, one sentence without a full stop. */
  next?: string | undefined;
  /** Name of the server, as configured. */
  server?: string | undefined;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** A retry can help, if it is safe (see `outcome`). @default false */
  retryable?: boolean | undefined;
  /** `"unsent"` if the server certainly did not run the request. @default "unknown" */
  outcome?: Outcome | undefined;
  cause?: unknown;
}

function format({ code, what, next, server, tool }: ToolportErrorInit): string {
  const name = tool === undefined ? server : `${server}/${tool}`;
  // The name of a tool is untrusted: it must not look like another part of the message.
  const prefix = server === undefined || name === undefined ? "" : `[${visibleLine(name)}] `;
  return `${prefix}${toSentence(what)}${next === undefined ? "" : ` ${toSentence(next)}`} (${code})`;
}

/**
 * Base of all Toolport errors.
 *
 * @example
 * ```ts
 * if (ToolportError.isInstance(error) && error.retryable) await again();
 * ```
 */
export class ToolportError<Code extends string = string> extends Error {
  static {
    Object.defineProperty(ToolportError.prototype, marker, { value: true });
  }

  /** The `name` of its errors; independent of class names, which bundlers change. */
  static readonly kind: string = "ToolportError";
  override readonly name: string = "ToolportError";
  readonly code: Code;
  /** What happened, without the name of the server and the code. */
  readonly what: string;
  /** What to do next. */
  readonly next: string | undefined;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  /** A retry can help. It is safe only if the call may run twice or `outcome` is `"unsent"`. */
  readonly retryable: boolean;
  /** Whether the server may have run the request. */
  readonly outcome: Outcome;
  /** The errors that this one combines. */
  readonly errors: readonly ToolportError[] = [];

  constructor(init: ToolportErrorInit<Code> & { errors?: readonly ToolportError[] | undefined }) {
    super(format(init), init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.what = init.what;
    this.next = init.next;
    this.server = init.server;
    this.tool = init.tool;
    this.retryable = init.retryable ?? false;
    this.outcome = init.outcome ?? "unknown";
    if (init.errors !== undefined) this.errors = init.errors;
  }

  /**
   * Returns the error with missing names of server and tool filled in; itself if none is missing. In the phase `connect` the
   * outcome becomes `"unsent"`. The copy keeps class, fields, cause and stack.
   */
  withContext(context: {
    server?: string | undefined;
    tool?: string | undefined;
    phase?: string | undefined;
  }): this {
    const server = this.server ?? context.server;
    // The tool of another server would be misleading.
    const tool = this.tool ?? (server === context.server ? context.tool : undefined);
    const outcome = context.phase === "connect" ? "unsent" : this.outcome;
    return copyWith(this, { server, tool, outcome });
  }

  /** Returns the error with another `outcome`; itself if it is the same. The copy keeps class, fields, cause and stack. */
  withOutcome(outcome: Outcome): this {
    return copyWith(this, { outcome });
  }

  /** Returns the error with another `next`. The copy keeps class, fields, cause and stack. */
  withNext(next: string): this {
    return copyWith(this, { next });
  }

  /** Like `instanceof`, across copies of the package. */
  static isInstance<Class extends abstract new (...args: never[]) => ToolportError>(
    this: Class & { readonly kind: string },
    value: unknown,
  ): value is InstanceType<Class> {
    return isErrorOf(this, value);
  }

  /** `instanceof` works across copies too: a program may import Toolport in one module and require it in another. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isErrorOf(this, value);
  }
}

/** A user's subclass has no own `kind` and is recognised by identity only. */
function isErrorOf(Class: { readonly kind: string }, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    if (Function.prototype[Symbol.hasInstance].call(Class, value)) return true;
    if ((value as Record<symbol, unknown>)[marker] !== true || !Object.hasOwn(Class, "kind")) return false;
    return Class.kind === ToolportError.kind || (value as Error).name === Class.kind;
  } catch {
    // A proxy may throw on access.
    return false;
  }
}

type CopiedFields = Pick<ToolportError, "server" | "tool" | "outcome" | "next">;

/** Not a private method: copies are not created by the constructor and have no private members. */
function copyWith<E extends ToolportError>(error: E, changes: Partial<CopiedFields>): E {
  const { server, tool, outcome, next }: CopiedFields = { ...error, ...changes };
  if (server === error.server && tool === error.tool && outcome === error.outcome && next === error.next)
    return error;
  const message = format({ code: error.code, what: error.what, next, server, tool });
  const copy = Object.setPrototypeOf(new Error(message), Object.getPrototypeOf(error));
  const own = Object.getOwnPropertyDescriptors(error);
  const stack = error.stack?.replace(error.message, () => message);
  for (const [key, value] of Object.entries({ server, tool, outcome, next, message, stack })) {
    own[key as "message"] = {
      value,
      writable: true,
      configurable: true,
      enumerable: own[key as "message"]?.enumerable ?? false,
    };
  }
  return Object.defineProperties(copy, own);
}

/** For the error of a later attempt: if an earlier attempt may have run, the outcome cannot be `"unsent"`. */
export function afterUnknown(error: unknown): unknown {
  return ToolportError.isInstance(error) && error.outcome === "unsent" ? error.withOutcome("unknown") : error;
}

/** For an error before anything was sent. */
export function asUnsent(error: unknown): unknown {
  return ToolportError.isInstance(error) ? error.withOutcome("unsent") : error;
}

export function throwUnsent(error: unknown): never {
  throw asUnsent(error);
}

/** Adds a full stop unless the text ends with punctuation. */
export const toSentence = (text: string): string => (/[.?!…]$/.test(text) ? text : `${text}.`);

/** Context of a failure that the error itself does not contain. */
export interface ErrorContext {
  /** Name of the server, as configured. */
  server?: string | undefined;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** The phase that failed: `connect`, `list`, `call`, … In the phase `connect` no call was sent. */
  phase?: string | undefined;
}

/** One problem in a configuration. */
export interface ConfigIssue {
  /** The file that contains the problem, if the configuration comes from one. */
  file?: string | undefined;
  /** 1-based line in that file. */
  line?: number | undefined;
  /** Where in the configuration, e.g. `mcpServers.weather.url`. */
  path: string;
  /** What is wrong and what is expected. Never contains a secret value. */
  message: string;
}

export type ConfigErrorCode = "INVALID_CONFIG" | "UNKNOWN_SERVER" | "DUPLICATE_SERVER" | "UNREADABLE_CONFIG";

const fileOf = (issue: ConfigIssue): string =>
  issue.file === undefined ? "" : `${issue.file}${issue.line === undefined ? "" : `:${issue.line}`}: `;

/** An unreadable file has problems without a path. */
const pathOf = (issue: ConfigIssue): string => (issue.path === "" ? "" : `${issue.path}: `);

/** Thrown before anything is started when options, a server entry or a configuration file are invalid. */
export class ConfigError extends ToolportError<ConfigErrorCode> {
  static override readonly kind = "ConfigError";
  override readonly name = "ConfigError";
  readonly issues: readonly ConfigIssue[];

  constructor(
    init: Omit<ToolportErrorInit<ConfigErrorCode>, "what"> & {
      what?: string;
      issues?: readonly ConfigIssue[];
    },
  ) {
    const issues = init.issues ?? [];
    const list = issues.map((issue) => `\n  - ${fileOf(issue)}${pathOf(issue)}${issue.message}`).join("");
    super({ ...init, what: `${init.what ?? "The configuration is not valid"}${list}`, outcome: "unsent" });
    this.issues = issues;
  }
}

export type ConnectionErrorCode =
  | "SPAWN_FAILED"
  | "UNREACHABLE"
  | "HTTP_STATUS"
  | "BAD_RESPONSE"
  | "HANDSHAKE_FAILED"
  | "SESSION_LOST"
  | "STREAM_CUT"
  | "MESSAGE_TOO_LARGE"
  | "ADDRESS_REFUSED"
  | "TRANSPORT_NOT_SUPPORTED"
  | "RESTART_LIMIT"
  | "CONNECT_TIMEOUT"
  | "CIRCUIT_OPEN"
  | "CLOSED";

export interface ConnectionErrorDetails {
  /** Exit code of the process, for stdio and Docker. */
  exitCode?: number | null | undefined;
  /** Signal that ended the process. */
  signal?: string | null | undefined;
  /** Last lines of the process's stderr (4 KiB at most). */
  stderrTail?: string | undefined;
  /** System error code such as `ENOENT` or `ECONNREFUSED`. */
  errno?: string | undefined;
  /** HTTP status. */
  status?: number | undefined;
  /** How long the server asks the client to wait (`Retry-After`). */
  retryAfterMs?: number | undefined;
  /** One error per attempt, if there were several. */
  attempts?: readonly ToolportError[] | undefined;
}

/** Thrown when a server cannot be started or reached, or a connection is lost. */
export class ConnectionError extends ToolportError<ConnectionErrorCode> implements ConnectionErrorDetails {
  static override readonly kind = "ConnectionError";
  override readonly name = "ConnectionError";
  readonly exitCode?: number | null | undefined;
  readonly signal?: string | null | undefined;
  readonly stderrTail?: string | undefined;
  readonly errno?: string | undefined;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly attempts?: readonly ToolportError[] | undefined;

  constructor(init: ToolportErrorInit<ConnectionErrorCode> & ConnectionErrorDetails) {
    super(init);
    this.exitCode = init.exitCode;
    this.signal = init.signal;
    this.stderrTail = init.stderrTail;
    this.errno = init.errno;
    this.status = init.status;
    this.retryAfterMs = init.retryAfterMs;
    this.attempts = init.attempts;
  }
}

export type AuthErrorCode =
  | "AUTH_REQUIRED"
  | "FORBIDDEN"
  | "INSUFFICIENT_SCOPE"
  | "ISSUER_MISMATCH"
  | "AUTH_FAILED";

/** Thrown when a server cannot be used without a valid authorization. */
export class AuthError extends ToolportError<AuthErrorCode> {
  static override readonly kind = "AuthError";
  override readonly name = "AuthError";
  /** Where the user can authorize, if known. */
  readonly authUrl?: string | undefined;
  /** HTTP status of the response that denied access. */
  readonly status?: number | undefined;

  constructor(
    init: ToolportErrorInit<AuthErrorCode> & { authUrl?: string | undefined; status?: number | undefined },
  ) {
    super(init);
    this.authUrl = init.authUrl;
    this.status = init.status;
  }
}

export type CatalogErrorCode =
  | "TOOL_NOT_FOUND"
  | "RESOURCE_NOT_FOUND"
  | "PROMPT_NOT_FOUND"
  | "NOT_OFFERED"
  | "TOOL_WITHHELD"
  | "DISCOVERY_FAILED"
  | "TOOL_CHANGED"
  | "REQUIRED_TOOLS_MISSING";

/** Thrown when a tool, resource or prompt is not in the catalog or cannot be offered. */
export class CatalogError extends ToolportError<CatalogErrorCode> {
  static override readonly kind = "CatalogError";
  override readonly name = "CatalogError";
  /** Names similar to the requested one. */
  readonly suggestions: readonly string[];
  /** Why a tool is withheld. */
  readonly reason?: string | undefined;
  /** Required names that are missing. */
  readonly missing: readonly string[];

  constructor(
    init: ToolportErrorInit<CatalogErrorCode> & {
      suggestions?: readonly string[] | undefined;
      reason?: string | undefined;
      missing?: readonly string[] | undefined;
    },
  ) {
    super({ outcome: "unsent", ...init });
    this.suggestions = init.suggestions ?? [];
    this.reason = init.reason;
    this.missing = init.missing ?? [];
  }
}

export type ToolCallErrorCode =
  | "INVALID_ARGUMENTS"
  | "TIMEOUT"
  | "PROTOCOL"
  | "INVALID_OUTPUT"
  | "UNSUPPORTED_CONTENT"
  | "OVERLOADED"
  | "REFUSED"
  | "FALLBACK_EXHAUSTED"
  | "TASK_CANCELLED"
  | "TASK_LOST";

export interface ToolCallErrorDetails {
  /** JSON-RPC error code of the response. */
  rpcCode?: number | undefined;
  /** Message of the JSON-RPC error, with the secrets of the server entry redacted. */
  rpcMessage?: string | undefined;
  /** `data` of the JSON-RPC error, with the secrets of the server entry redacted. */
  data?: unknown;
  /** The phase that timed out: `connect`, `list`, `call`, … */
  phase?: string | undefined;
  /** Problems found in the arguments, each with its path. */
  issues?: readonly { path: string; message: string }[] | undefined;
  /** The rejected result of the server, with the secrets of the server entry redacted. */
  result?: unknown;
  /** One error per attempt, if there were several. */
  attempts?: readonly ToolportError[] | undefined;
}

/** Thrown when a call could not be made or its response cannot be used. A tool that reports failure does not throw. */
export class ToolCallError extends ToolportError<ToolCallErrorCode> implements ToolCallErrorDetails {
  static override readonly kind = "ToolCallError";
  override readonly name = "ToolCallError";
  readonly rpcCode?: number | undefined;
  readonly rpcMessage?: string | undefined;
  readonly data?: unknown;
  readonly phase?: string | undefined;
  readonly issues?: readonly { path: string; message: string }[] | undefined;
  readonly result?: unknown;
  readonly attempts?: readonly ToolportError[] | undefined;

  constructor(init: ToolportErrorInit<ToolCallErrorCode> & ToolCallErrorDetails) {
    super(init);
    this.rpcCode = init.rpcCode;
    this.rpcMessage = init.rpcMessage;
    this.data = init.data;
    this.phase = init.phase;
    this.issues = init.issues;
    this.result = init.result;
    this.attempts = init.attempts;
  }
}

export type SuspensionErrorCode =
  /** No call waits under this token for this principal: it is wrong, used, expired or of another principal. */
  | "SUSPENSION_UNKNOWN"
  /** The server of the call is not configured here, or another server has its name now. */
  | "SUSPENSION_MOVED"
  /** The server no longer accepts the state of the call (`at: "server"`). */
  | "SUSPENSION_EXPIRED"
  /** The same `key` was used for another call. */
  | "KEY_REUSED"
  /** The process that sent the call ended before the result was saved, so the tool may have run. */
  | "OUTCOME_UNKNOWN"
  /** The call cannot be suspended here. */
  | "NOT_OFFERED";

/** Thrown when a call cannot be suspended or resumed. */
export class SuspensionError extends ToolportError<SuspensionErrorCode> {
  static override readonly kind = "SuspensionError";
  override readonly name = "SuspensionError";
  /** Where the state of the call expired; only with `SUSPENSION_EXPIRED`. */
  readonly at?: "server" | undefined;

  constructor(init: ToolportErrorInit<SuspensionErrorCode> & { at?: "server" | undefined }) {
    super(init);
    this.at = init.at;
  }
}

export type StateErrorCode = "UNAVAILABLE" | "BUSY" | "CORRUPT" | "KEY_MISMATCH" | "FULL";

/** Thrown when stored state cannot be read or written. */
export class StateError extends ToolportError<StateErrorCode> {
  static override readonly kind = "StateError";
  override readonly name = "StateError";
}
