/** Runs a command line: takes arguments, streams and environment, returns the exit code. Loads the code of a command only to run it. */
import type { Writable } from "node:stream";
import { CLIENT_INFO } from "../util/version.js";
import { choosePaint } from "./colours.js";
import type { Invocation } from "./command.js";
import { COMMANDS } from "./commands.js";
import type { CommandLine } from "./create-command-context.js";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { formatError } from "./format-error.js";
import { Interruption, watchSignals } from "./interruption.js";
import { parseCommandLine } from "./parse-command-line.js";
import { commandHelp, programHelp } from "./show-help.js";

/** Never throws. Closes everything the command opened before it resolves. */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const { args, env, stdout, stderr } = line;
  const watch = watchSignals(line.signals, line.onSecondSignal);
  // The reader closed the pipe, as in `toolport tools | head -1`: end the command quietly.
  const onOutputError = () => watch.end(EXIT.ok);
  const ignoreError = () => {};
  stdout.on("error", onOutputError);
  stderr.on("error", ignoreError);
  try {
    const parsed = parseCommandLine(args, COMMANDS);
    if (parsed.wants === "help")
      stdout.write(`${parsed.command === undefined ? programHelp(COMMANDS) : commandHelp(parsed.command)}\n`);
    else if (parsed.wants === "version")
      stdout.write(
        `${asksForJson(args) ? JSON.stringify({ version: CLIENT_INFO.version }) : CLIENT_INFO.version}\n`,
      );
    else return await execute(parsed.invocation, line, watch);
    return EXIT.ok;
  } catch (error) {
    const isJson = asksForJson(args);
    const isVerbose = args.includes("--verbose") || args.includes("-v");
    const isPlain = args.includes("--no-color");
    const paint = choosePaint({ isTerminal: stderr.isTTY === true, env, isPlain });
    if (!(error instanceof Interruption))
      stderr.write(`${formatError(error, { isJson, isVerbose, paint })}\n`);
    return exitCodeOf(error);
  } finally {
    watch.stop();
    // Wait until all output is written. The callback also runs for a closed pipe.
    await Promise.all([stdout, stderr].map((stream) => flushed(stream)));
    stdout.off("error", onOutputError);
    stderr.off("error", ignoreError);
  }
}

async function execute(
  invocation: Invocation,
  line: CommandLine,
  watch: ReturnType<typeof watchSignals>,
): Promise<number> {
  const { signal } = watch;
  const [{ createCommandContext }, runCommand] = await Promise.all([
    import("./create-command-context.js"),
    invocation.command.load(),
  ]);
  const { context, close } = createCommandContext(invocation, { line, watch });
  const interrupted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // A command that ignores the signal is abandoned: everything it uses is closed below.
  const running = runCommand(invocation, context);
  running.catch(() => {});
  try {
    return await Promise.race([running, interrupted]);
  } catch (error) {
    // After an interruption, other errors are its consequences.
    throw signal.aborted ? signal.reason : error;
  } finally {
    interrupted.catch(() => {});
    await close();
  }
}

/** Works on unparsed arguments: errors of the parser are printed as JSON, too. */
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
