/** The root of every error Toolport throws: who failed, why, and whether trying again can help. */

import { visibleLine } from "../util/visible-text.js";

const marker = Symbol.for("toolport.error");

/** Whether the server can have acted on the request that failed. */
export type Outcome = "unsent" | "unknown";

/** What every Toolport error is built from. */
export interface ToolportErrorInit<Code extends string = string> {
  /** Machine-readable reason. */
  code: Code;
  /** What happened, one sentence without its full stop. */
  what: string;
  /** What to do next, one sentence without its full stop. */
  next?: string | undefined;
  /** Name of the server, as configured. */
  server?: string | undefined;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** May be retried if that is safe (see `outcome`). @default false */
  retryable?: boolean | undefined;
  /** `"unsent"` when the server provably did not run the request. @default "unknown" */
  outcome?: Outcome | undefined;
  cause?: unknown;
}

function format({ code, what, next, server, tool }: ToolportErrorInit): string {
  const name = tool === undefined ? server : `${server}/${tool}`;
  // A tool's name is whatever its server says: it must not look like the rest of the message.
  const who = server === undefined || name === undefined ? "" : `[${visibleLine(name)}] `;
  return `${who}${toSentence(what)}${next === undefined ? "" : ` ${toSentence(next)}`} (${code})`;
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

  /** The name its errors bear, whatever a bundler calls the class. */
  static readonly kind: string = "ToolportError";
  override readonly name: string = "ToolportError";
  readonly code: Code;
  /** What happened, without the name of the server and the code. */
  readonly what: string;
  /** What to do next. */
  readonly next: string | undefined;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  /** May be retried if that is safe: the caller also has to know that the call may run twice, or that `outcome` is `"unsent"`. */
  readonly retryable: boolean;
  /** Whether the server can have acted on the request. */
  readonly outcome: Outcome;
  /** The failures this one sums up, where it stands for several. */
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
   * The same error with the names of its server and tool filled in where they are missing; itself if nothing is.
   * What failed in the phase `connect` has sent nothing of a call. The copy keeps class, fields, cause and stack.
   */
  withContext(context: {
    server?: string | undefined;
    tool?: string | undefined;
    phase?: string | undefined;
  }): this {
    const server = this.server ?? context.server;
    // A tool belongs to its server: the name of another server's tool would mislead.
    const tool = this.tool ?? (server === context.server ? context.tool : undefined);
    const outcome = context.phase === "connect" ? "unsent" : this.outcome;
    return copyWith(this, { server, tool, outcome });
  }

  /** The same error with another `outcome`; itself if it has that one. The copy keeps class, fields, cause and stack. */
  withOutcome(outcome: Outcome): this {
    return copyWith(this, { outcome });
  }

  /** The same error with other advice. The copy keeps class, fields, cause and stack. */
  withNext(next: string): this {
    return copyWith(this, { next });
  }

  /** Recognises errors of this class across copies of the package. */
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

/** A class that a program derives from one of ours has no `kind` of its own, and is recognised by its identity only. */
function isErrorOf(Class: { readonly kind: string }, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    if (Function.prototype[Symbol.hasInstance].call(Class, value)) return true;
    if ((value as Record<symbol, unknown>)[marker] !== true || !Object.hasOwn(Class, "kind")) return false;
    return Class.kind === ToolportError.kind || (value as Error).name === Class.kind;
  } catch {
    // A proxy that throws is no error of ours.
    return false;
  }
}

type CopiedFields = Partial<Pick<ToolportError, "server" | "tool" | "outcome" | "next">>;

const pick = ({ server, tool, outcome, next }: ToolportError) => ({ server, tool, outcome, next });

/** A function, not a private method: a copy is not made by the constructor, so it has no private members. */
function copyWith<E extends ToolportError>(error: E, changes: CopiedFields): E {
  const { server, tool, outcome, next } = { ...pick(error), ...changes };
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

/** The error of a later send when an earlier one may have run: its outcome cannot be `"unsent"`. */
export function afterUnknown(error: unknown): unknown {
  return ToolportError.isInstance(error) && error.outcome === "unsent" ? error.withOutcome("unknown") : error;
}

/** Ends a text as a sentence ends. A question keeps its mark. */
export const toSentence = (text: string): string => (/[.?!…]$/.test(text) ? text : `${text}.`);

/** What is known about a failure besides the error itself. */
export interface ErrorContext {
  /** Name of the server, as configured. */
  server?: string | undefined;
  /** Name of the tool on that server. */
  tool?: string | undefined;
  /** What was going on: `connect`, `list`, `call`, … While connecting, nothing of a call can have been sent. */
  phase?: string | undefined;
}
