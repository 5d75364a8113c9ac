/** `toolport shell`: runs commands in one session, typed at a terminal or read from stdin. */
import { createInterface } from "node:readline";
import { flagOption, type RunCommand } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { serversIn } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
import { plural } from "../plain-text.js";
import { completeInSession } from "../shell/complete-in-session.js";
import { ShellPrompt } from "../shell/shell-prompt.js";
import { ShellSession } from "../shell/shell-session.js";

export const shellCommand: RunCommand = async (invocation, context) => {
  const { stdin, stderr } = context.streams;
  const isTerminal = stdin.isTTY === true && stderr.isTTY === true;
  const session: ShellSession = new ShellSession({
    invocation,
    context,
    ask: (question, options) => prompt.ask(question, { ...options, signal: session.signal }),
  });
  const prompt = new ShellPrompt({
    input: stdin,
    output: stderr,
    complete: (line) => completeInSession(session, line),
    onInterrupt: () => session.interrupt(),
  });
  await session.open();
  if (!isTerminal) return runScript(session, context, flagOption(invocation, "keep-going"));
  context.onExit(() => prompt.close());
  const count = serversIn(session.port).length;
  context.info(`${plural(count, "server")}. Tab completes, help lists the commands, Ctrl-D ends.`, "dim");
  for (let line = await prompt.next(); line !== undefined; line = await prompt.next())
    if ((await session.run(line)) === undefined) break;
  return EXIT.ok;
};

/** Ends at the first line that fails, with its exit code. `--keep-going`: runs all lines, and returns the first such code. */
async function runScript(
  session: ShellSession,
  context: CommandContext,
  keepsGoing: boolean,
): Promise<number> {
  const lines = createInterface({ input: context.streams.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  context.onExit(() => lines.close());
  let failed: number = EXIT.ok;
  for await (const line of lines) {
    const code = await session.run(line);
    if (code === undefined) break;
    if (failed === EXIT.ok) failed = code;
    if (failed !== EXIT.ok && !keepsGoing) break;
  }
  return failed;
}
