/** Creates the context of a command from its options and the streams of the process. */

import type {
  CommandContext,
  CommandOutput,
  Invocation,
  OpenedPort,
  OpenedStore,
  OpenPortOptions,
  OutputForm,
  Streams,
} from "./command.js";
import { CliError, type SignalSource, type SignalWatch } from "./errors.js";
import { formatTable, type TableColumn } from "./format-table.js";
import type { ServerLoader } from "./load-servers.js";
import { cell, choosePaint, oneLine, plainJson, plainLine, plainText } from "./plain-text.js";
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
    spinner.pause();
    const terminal = { input: stdin, output: stderr, signal: watch.signal };
    const onInterrupt = () => watch.end("SIGINT");
    try {
      return shell === undefined
        ? await askOnTerminal(plainLine(question), { ...terminal, onInterrupt }, options)
        : await shell.askOnTerminal(plainLine(question), options);
    } finally {
      spinner.resume();
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
    spinner.pause();
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

/** What a command prints, in the form that its options ask for. */
function createOutput(
  invocation: Invocation,
  { env, stdout, stderr }: ContextParts["line"],
  isInShell: boolean,
) {
  const form = readForm(invocation);
  const isQuiet = invocation.flag("quiet");
  const isVerbose = invocation.flag("verbose");
  const isPlain = invocation.flag("no-color") || form !== "text";
  const canMoveCursor = stderr.isTTY === true && env["TERM"] !== "dumb";
  const spinner = createSpinner(canMoveCursor && form !== "json" && !isQuiet ? stderr : undefined);
  const paint = choosePaint(stdout, env, isPlain);
  const paintStderr = choosePaint(stderr, env, isPlain);
  const columns = stdout.isTTY === true ? stdout.columns || undefined : undefined;
  const write = (text: string | Uint8Array) => {
    spinner.clear();
    stdout.write(text);
  };
  const output: CommandOutput = {
    form,
    isQuiet,
    isVerbose,
    paint,
    columns,
    print: (text) => write(`${form === "raw" && stdout.isTTY !== true ? text : plainText(text)}\n`),
    printPainted: (lines) => write(lines.map((text) => `${text}\n`).join("")),
    printRows(titles, rows) {
      const toColumn = (title: string | TableColumn) => (typeof title === "string" ? { title } : title);
      const head = titles.map(toColumn).map((column) => ({ ...column, title: paint("dim", column.title) }));
      const paintRow = ([first, ...rest]: readonly unknown[]) => [
        paint("bold", cell(first)),
        ...rest.map(cell),
      ];
      output.printPainted(formatTable(head, rows.map(paintRow), columns));
    },
    printList({ document, names, titles, rows, none }) {
      if (form === "json") output.printJson(document);
      else if (form === "raw") for (const name of names) output.print(plainLine(name));
      else if (rows.length === 0) output.info(none);
      else output.printRows(titles, rows);
    },
    printJson(value, { isLine = isInShell } = {}) {
      write(`${plainJson(value, isLine ? undefined : 2)}\n`);
    },
    async printBytes(bytes) {
      if (stdout.isTTY === true)
        throw new CliError(
          "The result is binary data, which a terminal cannot show. Write it to a file",
          `toolport ${invocation.command.name} … --output raw > file`,
          { code: "BINARY_OUTPUT" },
        );
      write(bytes);
    },
    info(lines, colour) {
      if (form === "json" && !isVerbose) return;
      spinner.clear();
      const text = (typeof lines === "string" ? [lines] : lines).map(plainLine).join("\n");
      stderr.write(`${colour === undefined ? text : paintStderr(colour, text)}\n`);
    },
    warn(lines) {
      const [first, ...rest] = typeof lines === "string" ? [lines] : lines;
      if (!isQuiet) output.info([`warning: ${first}`, ...rest], "yellow");
    },
    async progress(text, run) {
      const { update, done } = spinner.start(text);
      try {
        return await run(update);
      } finally {
        done();
      }
    },
  };
  return { output, spinner };
}

function readForm(invocation: Invocation): OutputForm {
  const output = invocation.text("output") as OutputForm | undefined;
  if (!invocation.flag("json")) return output ?? "text";
  if (output === undefined || output === "json") return "json";
  throw new CliError(
    `--json and --output ${output} contradict each other`,
    `toolport ${invocation.command.name} --json`,
  );
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
const ERASE_LINE = "\r\u001b[2K";

/** @param stream undefined: draws nothing */
function createSpinner(stream: Streams["stderr"] | undefined) {
  /** The last entry is shown. */
  const running: { text: string }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  let isDrawn = false;
  let isPaused = false;

  const clear = () => {
    if (isDrawn) stream?.write(ERASE_LINE);
    isDrawn = false;
  };
  const draw = () => {
    const spinning = running.at(-1);
    if (stream === undefined || spinning === undefined || isPaused) return;
    frame = (frame + 1) % FRAMES.length;
    const line = oneLine(spinning.text, Math.max(10, (stream.columns || 80) - 3));
    stream.write(`${ERASE_LINE}${FRAMES[frame]} ${line}`);
    isDrawn = true;
  };
  return {
    start(text: string) {
      if (stream === undefined) return { update() {}, done() {} };
      const entry = { text };
      running.push(entry);
      timer ??= setInterval(draw, FRAME_MS).unref();
      draw();
      return {
        update(next: string) {
          entry.text = next;
        },
        done() {
          const index = running.indexOf(entry);
          if (index >= 0) running.splice(index, 1);
          clear();
          if (running.length > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
    /** Erases the line before other output; the next frame draws it again. */
    clear,
    /** Hides the line until `resume`, while the user answers a question. */
    pause() {
      isPaused = true;
      clear();
    },
    resume() {
      isPaused = false;
    },
  };
}
