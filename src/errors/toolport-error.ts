/** The base class of all Toolport errors: which server failed, why, and whether a retry can help. */

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
