/** Asks the user at the terminal: one question, a form of a server, and the lines of a shell. */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { ElicitationRequest, ToolportOptions } from "@toolport/core";
import { completeForm } from "@toolport/core/internal";
import type { CommandContext } from "./command.js";
import type { Streams } from "./command-output.js";
import { plainBlock } from "./plain-text.js";

/** A form of a server. */
export type Form = Extract<ElicitationRequest, { mode: "form" }>;
type FormSchema = Form["requestedSchema"];
type FormContent = Extract<ReturnType<typeof completeForm>, { content: unknown }>["content"];
type Page = Extract<ElicitationRequest, { mode: "url" }>;

interface Terminal extends Omit<PromptParts, "complete"> {
  readonly signal: AbortSignal;
}

/**
 * Resolves with the answer, or with undefined if the input ends (Ctrl-D). A secret is not echoed.
 * Callers ask one question at a time: two open readline interfaces would both read and echo every key.
 *
 * @throws the signal's reason if it is aborted
 */
export async function askOnTerminal(
  question: string,
  { signal, ...terminal }: Terminal,
  options: { isSecret?: boolean } = {},
): Promise<string | undefined> {
  signal.throwIfAborted();
  const prompt = new ShellPrompt(terminal);
  try {
    const answer = await prompt.ask(question, { ...options, signal });
    if (answer === undefined) signal.throwIfAborted();
    return answer;
  } finally {
    prompt.close();
  }
}

/**
 * Each function starts when the previous one has settled.
 *
 * @example
 * ```ts
 * const enqueue = createSerialQueue();
 * await Promise.all([enqueue(() => ask("Name? ")), enqueue(() => ask("Age? "))]);
 * ```
 */
export function createSerialQueue(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run);
    last = mine.catch(() => {});
    return mine;
  };
}

/** Enter and the end of the input mean no. Asks again after any other answer: a typing error must not decide. */
export async function askYesNo(
  { ask, info }: Pick<CommandContext, "ask" | "info">,
  question: string,
): Promise<boolean> {
  for (;;) {
    const answer = (await ask(`${question} [y/N] `))?.trim().toLowerCase();
    if (answer === "y" || answer === "yes") return true;
    if (answer === undefined || ["", "n", "no"].includes(answer)) return false;
    info("Answer y or n", "yellow");
  }
}

/** The schema of one field, as far as questions need it. It comes from the server. */
interface Field {
  readonly type?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly default?: unknown;
  readonly enum?: unknown;
  readonly enumNames?: unknown;
  readonly oneOf?: unknown;
  readonly items?: { readonly enum?: unknown; readonly anyOf?: unknown };
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

/** An empty text, which Enter alone cannot express. */
const EMPTY_TEXT = '""';

/** The content of the form; undefined if the input ends (Ctrl-D). Enter leaves a field out, or takes its default. */
export async function askForm(
  context: Pick<CommandContext, "ask" | "info">,
  { properties, required = [] }: FormSchema,
): Promise<FormContent | undefined> {
  const content: [string, FormContent[string]][] = [];
  for (const [name, field] of Object.entries(properties as Record<string, Field>)) {
    const answer = await askField(context, { name, field, isRequired: required.includes(name) });
    if (answer === undefined) return undefined;
    content.push(...Object.entries(answer));
  }
  return Object.fromEntries(content);
}

/** The field with its valid value, or an empty object; undefined if the input ends. */
async function askField(
  { ask, info }: Pick<CommandContext, "ask" | "info">,
  { name, field, isRequired }: { name: string; field: Field; isRequired: boolean },
): Promise<FormContent | undefined> {
  const choices = choicesOf(field);
  const hint = [
    ...[field.description, field.type, field.type === "boolean" && "y or n"],
    field.type === "array" && "separated by commas",
    field.default !== undefined && `default ${textOf(field.default)}`,
    isRequired ? "required" : "optional",
  ];
  const label = typeof field.title === "string" ? field.title : name;
  const schema = { type: "object", properties: { [name]: field }, required: isRequired ? [name] : [] };
  if (choices !== undefined)
    info(choices.map(({ value, title }) => `    ${value}${title === value ? "" : `: ${title}`}`));
  for (;;) {
    const answer = await ask(`  ${label} (${hint.filter(Boolean).join(", ")}): `);
    if (answer === undefined) return undefined;
    const form = completeForm(
      schema as FormSchema,
      answer === "" ? {} : { [name]: toValue(answer, field, choices) },
    );
    if ("content" in form) return form.content;
    info(
      form.issues.map(({ message }) => `  ${label} ${message}`),
      "yellow",
    );
  }
}

/** A value that does not fit the type is returned as typed: `completeForm` says what is wrong. */
function toValue(
  answer: string,
  { type }: Field,
  choices: readonly Choice[] | undefined,
): FormContent[string] {
  const text = answer.trim();
  if (type === "boolean") {
    if (["y", "yes", "true"].includes(text.toLowerCase())) return true;
    return ["n", "no", "false"].includes(text.toLowerCase()) ? false : answer;
  }
  if (type === "array")
    return text === EMPTY_TEXT ? [] : text.split(",").map((item) => choose(item.trim(), choices));
  if (type === "number" || type === "integer") return Number.isNaN(Number(text)) ? answer : Number(text);
  if (choices !== undefined) return choose(text, choices);
  return answer === EMPTY_TEXT ? "" : answer;
}

/** Choices may be typed by their value or their title. */
function choose(text: string, choices: readonly Choice[] | undefined): string {
  const isValue = choices?.some(({ value }) => value === text);
  return isValue ? text : (choices?.find(({ title }) => title === text)?.value ?? text);
}

function choicesOf({ enum: values, enumNames, oneOf, items }: Field): readonly Choice[] | undefined {
  const plain = [values, items?.enum].find(Array.isArray);
  if (plain !== undefined) {
    const titles = Array.isArray(enumNames) ? enumNames : [];
    return plain.map((value, index) => ({ value: String(value), title: String(titles[index] ?? value) }));
  }
  const titled = [oneOf, items?.anyOf].find(Array.isArray);
  return titled?.map((option: { const?: unknown; title?: unknown } | null) => ({
    value: String(option?.const),
    title: String(option?.title ?? option?.const),
  }));
}

/** Options of the port: elicitation on a terminal only, log messages with `--verbose` only. */
export function elicitOnTerminal(context: CommandContext): Omit<ToolportOptions, "mcpServers" | "store"> {
  // Show one form at a time, so that no answer goes to the wrong server.
  const enqueue = createSerialQueue();
  return {
    ...(context.isVerbose && {
      onLog: ({ server, level, data }) => context.info(`${server}: ${level}: ${textOf(data)}`, "dim"),
    }),
    ...(context.isInteractive && {
      onElicitation: {
        form: (request, { server }) =>
          enqueue(async () => {
            showRequest(context, request, server);
            const isWanted = await askYesNo(context, "Answer?");
            const content = isWanted ? await askForm(context, request.requestedSchema) : undefined;
            return content === undefined ? { action: "decline" } : { action: "accept", content };
          }),
        // Never opens the page.
        url: (request, { server }) =>
          enqueue(async () => {
            showRequest(context, request, server);
            return { action: (await askYesNo(context, "Have you opened it?")) ? "accept" : "decline" };
          }),
      },
    }),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Shows what a server asks, with the full URL of a page. */
export function showRequest(
  { info }: Pick<CommandContext, "info">,
  request: ElicitationRequest,
  server: string,
): void {
  info(plainBlock(`${server} asks: ${request.message}`).split("\n"), "yellow");
  if ("url" in request) info(describePage(request));
}

/** The host and the whole URL of a page that a server asks the user to open. */
export const describePage = ({ url, host, isPunycode }: Page): string[] => [
  `It asks you to open a page of ${host}${isPunycode ? " (careful: this name may imitate another host)" : ""}:`,
  `  ${url}`,
];

const PROMPT = "toolport> ";
const MAX_HISTORY = 500;

interface PromptParts {
  readonly input: Streams["stdin"];
  readonly output: Streams["stderr"];
  /** Returns the candidates for the end of a line, and the text that they replace. @default none */
  readonly complete?: (line: string) => Promise<[candidates: string[], replaced: string]>;
  /** Ctrl-C while a command runs or a question is open: in raw mode the terminal sends no signal. */
  readonly onInterrupt: () => void;
}

type State = "idle" | "line" | "question";

/**
 * One readline interface owns the terminal for the whole session, so that keys are neither lost nor read twice, and Ctrl-C
 * reaches the running command instead of the processes of the servers.
 */
export class ShellPrompt {
  readonly #parts: PromptParts;
  readonly #echo: Writable;
  /** Lines typed while a command runs. */
  readonly #typedAhead: string[] = [];
  #lines: Interface | undefined;
  #history: string[] = [];
  #state: State = "idle";
  #isMuted = true;
  #settle: ((text: string | undefined) => void) | undefined;

  constructor(parts: PromptParts) {
    this.#parts = parts;
    const { output } = parts;
    this.#echo = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#isMuted) output.write(chunk);
        done();
      },
    });
    // Readline needs the width to move the cursor in long lines.
    Object.defineProperty(this.#echo, "columns", { get: () => output.columns });
  }

  /** The next line; undefined at the end of the input (Ctrl-D). */
  async next(): Promise<string | undefined> {
    const typed = this.#typedAhead.shift();
    if (typed !== undefined) {
      this.#parts.output.write(`${PROMPT}${typed}\n`);
      return typed;
    }
    return this.#read("line", PROMPT);
  }

  /** Asks a question while a command runs; undefined at the end of the input, or if the command is cancelled. */
  async ask(
    question: string,
    { isSecret = false, signal }: { isSecret?: boolean; signal: AbortSignal },
  ): Promise<string | undefined> {
    const cancel = () => this.#finish(undefined);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#read("question", question, isSecret);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  close(): void {
    this.#isMuted = true;
    this.#lines?.close();
    this.#lines = undefined;
  }

  #read(state: State, prompt: string, isSecret = false): Promise<string | undefined> {
    this.#lines ??= this.#open();
    const lines = this.#lines;
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#state = state;
      // What was typed before a question is no answer to it.
      if (state === "question") lines.write(null, { ctrl: true, name: "u" });
      this.#isMuted = false;
      lines.setPrompt(prompt);
      lines.prompt(state === "line");
      this.#isMuted = isSecret;
      this.#isSecret = isSecret;
    });
  }

  #isSecret = false;

  #finish(text: string | undefined): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    if (this.#isSecret || text === undefined) this.#parts.output.write("\n");
    this.#isSecret = false;
    this.#isMuted = true;
    this.#state = "idle";
    this.#settle = undefined;
    settle(text);
  }

  #open(): Interface {
    const { input, complete, onInterrupt, output } = this.#parts;
    const lines = createInterface({
      input,
      output: this.#echo,
      terminal: true,
      history: [...this.#history],
      historySize: MAX_HISTORY,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        const none: [string[], string] = [[], line];
        if (this.#state !== "line" || complete === undefined) return done(null, none);
        complete(line).then(
          (candidates) => done(null, candidates),
          () => done(null, none),
        );
      },
    });
    lines.on("history", (history: string[]) => {
      // Answers, secret ones too, are no commands.
      if (this.#state === "question") history.shift();
      this.#history = [...history];
    });
    lines.on("line", (text) => {
      if (this.#settle === undefined) this.#typedAhead.push(text);
      else this.#finish(text);
    });
    lines.on("SIGINT", () => {
      if (this.#state !== "line") return onInterrupt();
      output.write("^C\n");
      if (lines.line === "") output.write("Ctrl-D ends the shell\n");
      this.#isMuted = true;
      lines.write(null, { ctrl: true, name: "e" });
      lines.write(null, { ctrl: true, name: "u" });
      this.#isMuted = false;
      lines.prompt();
    });
    lines.on("close", () => {
      if (this.#lines !== lines) return;
      // Ctrl-D at a question ends only the question: the next line opens a new interface.
      this.#lines = undefined;
      this.#finish(undefined);
    });
    return lines;
  }
}
