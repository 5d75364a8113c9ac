/** Creates the context of a command from its options and the streams of the process. */

import type { CommandContext, Invocation, OpenedPort, OpenedStore, OpenPortOptions } from "./command.js";
import { createOutput, type Streams } from "./command-output.js";
import type { SignalSource, SignalWatch } from "./errors.js";
import type { ServerLoader } from "./load-servers.js";
import { plainLine } from "./plain-text.js";
import { askOnTerminal, askYesNo, createSerialQueue } from "./questions.js";

/** Arguments, environment and streams of the process. */
export interface CommandLine extends Streams {
  /** The arguments after the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly signals: SignalSource;
  /** Called when the user presses Ctrl-C a second time. */
  readonly onSecondSignal: (exitCode: number) => void;
}

export interface ContextParts {
  readonly line: Pick<CommandLine, "env" | "cwd" | keyof Streams>;
  readonly watch: Pick<SignalWatch, "signal" | "end">;
  /** A shell that runs the command: it owns the terminal, the state and the port. @default none */
  readonly shell?: ShellParts | undefined;
}

/** What the commands of a shell share. */
export interface ShellParts {
  /** Replaces methods of the context. */
  readonly methods: Partial<CommandContext>;
  /** The port of the shell; undefined if the command needs one of its own. */
  reusePort(wanted: OpenPortOptions | undefined): Promise<OpenedPort | undefined>;
  /** Receives the context before the command starts. */
  onStart(context: CommandContext): void;
  /** Asks at the terminal, which the shell is reading. */
  askOnTerminal(question: string, options?: { isSecret?: boolean }): Promise<string | undefined>;
}

/** Returns the context, and a function that closes everything that was opened through it. */
export function createCommandContext(
  invocation: Invocation,
  { line, watch, shell }: ContextParts,
): { context: CommandContext; close: () => Promise<void> } {
  const { env, cwd, stdin, stdout, stderr } = line;
  const home = env["HOME"] || env["USERPROFILE"];
  const timeoutMs = invocation.number("timeout");
  const { output, spinner } = createOutput(invocation, line, shell !== undefined);
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true && output.form !== "json";
  const exits: (() => Promise<void> | void)[] = [];
  const askNow = async (question: string, options?: { isSecret?: boolean }) => {
    spinner.pause(true);
    const terminal = { input: stdin, output: stderr, signal: watch.signal };
    const onInterrupt = () => watch.end("SIGINT");
    try {
      return shell === undefined
        ? await askOnTerminal(plainLine(question), { ...terminal, onInterrupt }, options)
        : await shell.askOnTerminal(plainLine(question), options);
    } finally {
      spinner.pause(false);
    }
  };
  // Several servers may ask at the same time. Show one question at a time.
  const enqueue = createSerialQueue();
  let loader: Promise<ServerLoader> | undefined;
  const openLoader = () => {
    loader ??= import("./load-servers.js").then(({ createServerLoader }) => createServerLoader(context));
    return loader;
  };
  const openStore = async () => {
    const { openStore: open, statePathOf } = await import("./open-store.js");
    const opened = await open(statePathOf(context), context.warn);
    exits.unshift(() => opened.store.close());
    return opened;
  };
  let store: Promise<OpenedStore> | undefined;
  const context: CommandContext = {
    ...invocation,
    ...output,
    streams: { stdin, stdout, stderr },
    env,
    cwd,
    surroundings: { cwd, env, ...(home && { home }) },
    isInteractive,
    agreesToAll: invocation.flag("yes"),
    timeoutMs,
    callOptions: { signal: watch.signal, ...(timeoutMs !== undefined && { timeoutMs }) },
    signal: watch.signal,
    confirm: async (question) => context.agreesToAll || askYesNo(context, question),
    ask: async (question, options) => (isInteractive ? enqueue(() => askNow(question, options)) : undefined),
    async readAllInput() {
      if (stdin.isTTY === true) context.info("Reading from the terminal; end with Ctrl-D");
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks).toString("utf8");
    },
    readServers: async () => (await openLoader()).read(),
    loadServers: async (names, options) => (await openLoader()).load(names, options),
    trustServers: async (names, file) => (await openLoader()).trust(names, file),
    openStore() {
      store ??= openStore();
      return store;
    },
    async openPort(options) {
      const reused = await shell?.reusePort(options);
      if (reused !== undefined) return reused;
      const { openPort } = await import("./connect-servers.js");
      return openPort(context, options);
    },
    onExit: (run) => void exits.push(run),
    ...shell?.methods,
  };
  shell?.onStart(context);
  const close = async () => {
    spinner.pause(true);
    await runExits(exits, context);
  };
  return { context, close };
}

async function runExits(exits: (() => Promise<void> | void)[], context: CommandContext): Promise<void> {
  for (let run = exits.pop(); run !== undefined; run = exits.pop()) {
    try {
      await run();
    } catch (error) {
      context.info(`warning: ${error instanceof Error ? error.message : String(error)}`, "yellow");
    }
  }
}
