/** The whole program as a function: words, streams and environment in, exit code out. Light until a command is run. */
import type { Readable, Writable } from "node:stream";
import { CLIENT_INFO } from "../util/version.js";
import { choosePaint } from "./colours.js";
import type { Invocation } from "./command.js";
import { COMMANDS } from "./commands.js";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { Interruption, type SignalSource, watchSignals } from "./interruption.js";
import { parseCommandLine } from "./parse-command-line.js";
import { commandHelp, programHelp } from "./show-help.js";
import { tellError } from "./tell-error.js";

/** What the program gets from its process. */
export interface CommandLine {
  /** The words after the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly signals: SignalSource;
  /** Somebody pressed Ctrl-C twice. */
  readonly onSecondSignal: (exitCode: number) => void;
}

/** Runs a command line. Never throws; nothing of the command is left when it ends. */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const { args, env, stdout, stderr } = line;
  const watch = watchSignals(line.signals, line.onSecondSignal);
  // Whoever reads our output has read enough: `toolport tools | head -1`.
  const onOutputError = () => watch.end(EXIT.ok);
  const onToldError = () => {};
  stdout.on("error", onOutputError);
  stderr.on("error", onToldError);
  try {
    const parsed = parseCommandLine(args, COMMANDS);
    if (parsed.wants === "help")
      stdout.write(`${parsed.command === undefined ? programHelp(COMMANDS) : commandHelp(parsed.command)}\n`);
    else if (parsed.wants === "version")
      stdout.write(
        `${asksForJson(args) ? JSON.stringify({ version: CLIENT_INFO.version }) : CLIENT_INFO.version}\n`,
      );
    else return await runCommand(parsed.invocation, line, watch);
    return EXIT.ok;
  } catch (error) {
    const isJson = asksForJson(args);
    const isVerbose = args.includes("--verbose") || args.includes("-v");
    const isPlain = args.includes("--no-color");
    const paint = choosePaint({ isTerminal: stderr.isTTY === true, env, isPlain });
    if (!(error instanceof Interruption)) stderr.write(`${tellError(error, { isJson, isVerbose, paint })}\n`);
    return exitCodeOf(error);
  } finally {
    watch.stop();
    // What was written is out before the program ends; a closed pipe answers, too.
    await Promise.all([stdout, stderr].map((stream) => flushed(stream)));
    stdout.off("error", onOutputError);
    stderr.off("error", onToldError);
  }
}

async function runCommand(
  invocation: Invocation,
  line: CommandLine,
  watch: ReturnType<typeof watchSignals>,
): Promise<number> {
  const { signal } = watch;
  const [{ createShell }, command] = await Promise.all([
    import("./create-shell.js"),
    invocation.command.load(),
  ]);
  const { shell, close } = createShell(invocation, { line, watch });
  const interrupted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // A command that does not listen to the signal is left behind: what it uses is closed.
  const running = command.run(invocation, shell);
  running.catch(() => {});
  try {
    return await Promise.race([running, interrupted]);
  } catch (error) {
    // Whatever else failed on the way out, it was the interruption.
    throw signal.aborted ? signal.reason : error;
  } finally {
    interrupted.catch(() => {});
    await close();
  }
}

/** Before the line is understood, and even if it is not. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  return own.some(
    (word, index) =>
      word === "--json" || word === "--output=json" || (word === "json" && own[index - 1] === "--output"),
  );
}

const flushed = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write("", () => resolve());
  });
