/** Requests of servers that the user answers in the page: forms, web pages, model completions; and the roots. */

import { canParseUrl, type Fields, onSharedAbort, ToolCallError } from "@toolport/base";
import type {
  ElicitationAnswer,
  ElicitationRequest,
  RequestOrigin,
  SamplingAnswer,
  SamplingRequest,
  ToolportOptions,
} from "@toolport/core";
import { completeForm, type Root } from "@toolport/core/internal";
import { BadRequest, fieldsOf, textOf } from "./read-body.js";
import { redactJson } from "./redact-json.js";

/**
 * Lets the user of the page answer servers. Created by {@link createConsoleAnswers}.
 */
export interface ConsoleAnswers {
  /** Options for `createToolport`. They advertise forms, model completions and roots to servers. */
  readonly options: Pick<ToolportOptions, "onElicitation" | "onSampling" | "roots">;
}

/**
 * Creates the options that let servers ask the user of the console. Pass them to `createToolport`, and the object itself to
 * `startConsole`. Without a console, questions wait until the call that they belong to times out or is aborted.
 *
 * @example
 * ```ts
 * const answers = createConsoleAnswers();
 * const toolport = createToolport({ mcpServers, ...answers.options });
 * const page = await startConsole({ toolport, answers });
 * ```
 */
export const createConsoleAnswers = (): ConsoleAnswers => new ServerQuestions();

type Asked =
  | { readonly kind: "elicitation"; readonly request: ElicitationRequest }
  | { readonly kind: "sampling"; readonly request: SamplingRequest };

interface OpenQuestion {
  readonly asked: Asked;
  readonly origin: RequestOrigin;
  readonly at: number;
  readonly resolve: (answer: never) => void;
  readonly reject: (reason: unknown) => void;
}

export class ServerQuestions implements ConsoleAnswers {
  readonly options: ConsoleAnswers["options"];
  readonly #open = new Map<string, OpenQuestion>();
  #roots: readonly Root[] = [];
  #last = 0;
  /** Called when a question was asked, answered or withdrawn. */
  onchange: (() => void) | undefined;

  constructor() {
    const elicit = (request: ElicitationRequest, origin: RequestOrigin) =>
      this.#ask<ElicitationAnswer>({ kind: "elicitation", request }, origin);
    const complete = (request: SamplingRequest, origin: RequestOrigin) =>
      this.#ask<SamplingAnswer>({ kind: "sampling", request }, origin);
    this.options = {
      onElicitation: { form: elicit, url: elicit },
      onSampling: { handle: complete, tools: true },
      roots: () => this.#roots,
    };
  }

  get roots(): readonly Root[] {
    return this.#roots;
  }

  /** @throws BadRequest if a root is not a `file://` URL */
  setRoots(value: unknown): void {
    const roots = Array.isArray(value) ? value : [];
    this.#roots = roots.map((root: Partial<Root> | null) => {
      const { uri, name } = root ?? {};
      if (typeof uri !== "string" || !uri.startsWith("file://") || !canParseUrl(uri))
        throw new BadRequest(400, "A root is a file:// URL");
      return { uri, ...(typeof name === "string" && name !== "" && { name }) };
    });
  }

  /** Oldest first. The user has to see a question as the server wrote it, so it is not redacted. */
  list() {
    return [...this.#open].map(([id, { asked, origin, at }]) => {
      const { server, tool = null, principal = null } = origin;
      const shared = { id, at, server, tool, principal };
      if (asked.kind === "sampling")
        return { ...shared, kind: asked.kind, request: redactJson(asked.request) };
      return { ...shared, kind: asked.kind, question: { key: id, ...asked.request } };
    });
  }

  /** @throws BadRequest or ToolCallError: the question stays open then */
  answer(id: string, given: Fields): void {
    const question = this.#open.get(id);
    if (question === undefined)
      throw new BadRequest(404, "This question is no longer open: it was answered, or its call has ended");
    const { asked, origin } = question;
    const answer =
      asked.kind === "sampling" ? toCompletion(given) : toDecision(asked.request, given, { id, origin });
    this.#open.delete(id);
    if (answer === undefined) question.reject(new Error("The user declined the request"));
    else question.resolve(answer as never);
    this.onchange?.();
  }

  /** Withdraws all questions. */
  close(): void {
    for (const { asked, resolve, reject } of this.#open.values()) {
      if (asked.kind === "elicitation") resolve({ action: "cancel" } as never);
      else reject(new Error("The console was closed"));
    }
    this.#open.clear();
  }

  async #ask<Answer>(asked: Asked, origin: RequestOrigin): Promise<Answer> {
    const { signal } = origin;
    signal.throwIfAborted();
    const id = `q${++this.#last}`;
    let release = () => {};
    try {
      return await new Promise<Answer>((resolve, reject) => {
        release = onSharedAbort(signal, () => reject(signal.reason));
        this.#open.set(id, { asked, origin, at: Date.now(), resolve, reject });
        this.onchange?.();
      });
    } finally {
      release();
      // Withdrawn.
      if (this.#open.delete(id)) this.onchange?.();
    }
  }
}

/** The completion that the user wrote; undefined if the user declined. */
function toCompletion(body: Fields): SamplingAnswer | undefined {
  const { action, model } = body;
  if (action !== "accept") return undefined;
  return {
    role: "assistant",
    model: typeof model === "string" && model !== "" ? model : "console",
    content: { type: "text", text: textOf(body, "text") },
    stopReason: "endTurn",
  };
}

function toDecision(
  request: ElicitationRequest,
  body: Fields,
  { id, origin }: { id: string; origin: RequestOrigin },
): ElicitationAnswer {
  const { action } = body;
  if (action !== "accept") return { action: action === "cancel" ? "cancel" : "decline" };
  if (request.mode !== "form") return { action };
  const form = completeForm(request.requestedSchema, fieldsOf(body, "content"));
  if ("content" in form) return { action, content: form.content };
  throw new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server: origin.server,
    what: "The form is not complete",
    next: "Correct the marked fields",
    issues: form.issues.map(({ path, message }) => ({ path: `${id}.content.${path}`, message })),
  });
}
