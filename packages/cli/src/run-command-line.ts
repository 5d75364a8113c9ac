/** Runs a command line: takes arguments, streams and environment, returns the exit code. Loads the code of a command only to run it. */
import type { Writable } from "node:stream";
import { CLIENT_INFO } from "@toolport/base";
import type { CommandSpec, Invocation } from "./command.js";
import { commandHelp, programHelp } from "./command-options.js";
import { COMMANDS } from "./commands.js";
import type { CommandLine } from "./create-command-context.js";
import { EXIT, exitCodeOf, formatError, Interruption, watchSignals } from "./errors.js";
import { executeCommand, parseCommandLine, readTypedServers } from "./parse-command-line.js";
import { choosePaint } from "./plain-text.js";

/** Never throws. Closes everything the command opened before it resolves. */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const { args, env, stdout, stderr } = line;
  const watch = watchSignals(line.signals, line.onSecondSignal);
  // The reader closed the pipe, as in `toolport tools | head -1`: end the command quietly.
  const onOutputError = () => watch.end(EXIT.ok);
  const ignoreError = () => {};
  stdout.on("error", onOutputError);
  stderr.on("error", ignoreError);
  let invocation: Invocation | undefined;
  try {
    const parsed = parseCommandLine(args, COMMANDS);
    if (parsed.wants === "help") stdout.write(`${helpFor(parsed.command, stdout)}\n`);
    else if (parsed.wants === "version")
      stdout.write(
        `${asksForJson(args) ? JSON.stringify({ version: CLIENT_INFO.version }) : CLIENT_INFO.version}\n`,
      );
    else {
      invocation = await readTypedServers(parsed.invocation, line.cwd);
      return await executeCommand(invocation, { line, watch });
    }
    return EXIT.ok;
  } catch (error) {
    const isJson = asksForJson(args);
    const isVerbose = args.includes("--verbose") || args.includes("-v");
    const paint = choosePaint(stderr, env, args.includes("--no-color"));
    if (!(error instanceof Interruption))
      stderr.write(`${formatError(error, { isJson, isVerbose, paint, typed: invocation?.typed })}\n`);
    return exitCodeOf(error);
  } finally {
    watch.stop();
    // Wait until all output is written. The callback also runs for a closed pipe.
    await Promise.all([stdout, stderr].map((stream) => flushed(stream)));
    stdout.off("error", onOutputError);
    stderr.off("error", ignoreError);
  }
}

/** On a terminal, the text is wrapped at words. */
function helpFor(command: CommandSpec | undefined, { isTTY, columns }: CommandLine["stdout"]): string {
  const width = isTTY === true ? columns || undefined : undefined;
  return command === undefined ? programHelp(COMMANDS, width) : commandHelp(command, width);
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
