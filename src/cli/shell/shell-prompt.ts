/** Reads the lines of a shell at a terminal, with history and completion, and asks questions while a command runs. */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Streams } from "../command-context.js";

const PROMPT = "toolport> ";
const MAX_HISTORY = 500;

interface PromptParts {
  readonly input: Streams["stdin"];
  readonly output: Streams["stderr"];
  /** Returns the candidates for the end of the line, and the text that they replace. */
  readonly complete: (line: string) => Promise<[candidates: string[], replaced: string]>;
  /** Ctrl-C while a command runs. */
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
      ...{ input, output: this.#echo, terminal: true, history: [...this.#history], historySize: MAX_HISTORY },
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        const none: [string[], string] = [[], line];
        if (this.#state !== "line") return done(null, none);
        complete(line).then(
          (found) => done(null, found),
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
