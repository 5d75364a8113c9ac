/** `toolport exec`: runs a program that calls tools (code mode), and prints what it returns. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type CodeLimits,
  type CodeMode,
  type CodeOutcome,
  type CodeSuspended,
  createCodeMode,
  type ExecuteOptions,
} from "@toolport/code";
import { ProgramRecords, toSuspendedProgram } from "@toolport/code/internal";
import { isSuspended, type ResumeInput } from "@toolport/core";
import type { CommandContext, CommandSpec, OpenPortOptions, RunCommand } from "../command.js";
import { PRINCIPAL_OPTION, SUSPEND_OPTIONS, texts } from "../command-options.js";
import { CliError, EXIT } from "../errors.js";
import { oneLine } from "../plain-text.js";
import { elicitOnTerminal } from "../questions.js";
import { answeredByOf, principalOf, readSuspend, requireState, showSuspended } from "../suspended-calls.js";

export const execCommand: CommandSpec = {
  name: "exec",
  summary: "Run a program that calls tools",
  group: "use",
  positionals: [
    {
      name: "file",
      summary: "JavaScript or TypeScript, the body of an async function; - reads it from stdin",
    },
  ],
  options: {
    server: texts("<name>", "Only the tools of this server"),
    limit: texts("<name=number>", "cpuMs, timeMs, memoryBytes, calls, parallel, outputBytes or resultBytes"),
    ...SUSPEND_OPTIONS,
    ...PRINCIPAL_OPTION,
  },
  examples: [
    ["toolport exec report.ts", "tools.<server>.<tool>(arguments) calls a tool, return prints a value"],
    ["echo 'return tools.weather.forecast({ city: \"Oslo\" })' | toolport exec -", "from stdin"],
    ["toolport exec pay.ts --suspend --approval unsafe", "calls can be approved later"],
  ],
  load: async () => (await import("./exec.js")).runExec,
};

const MAX_SHOWN = 300;

export const runExec: RunCommand = async (context) => {
  const [path = ""] = context.words;
  const wish = readSuspend(context);
  if (wish !== undefined) requireState(await context.openStore(), context);
  const source = await readProgram(path, context);
  const limits = readLimits(context);
  const code = await openCode(context, {
    servers: context.texts("server"),
    options: { ...elicitOnTerminal(context), ...wish?.options },
  });
  const options = { ...runOptions(context), limits, ...(wish && { suspend: wish.suspend }) };
  return finish(await context.progress(path, () => code.execute(source, options)), context);
};

/** The program with this token, while it waits for a person. */
export async function findProgram(
  token: string,
  context: CommandContext,
): Promise<CodeSuspended | undefined> {
  const { store } = await context.openStore();
  const program = await new ProgramRecords({ store, principal: principalOf(context) }).find(token);
  return program && toSuspendedProgram(program.record);
}

/** Continues a program that waits for a person. One that waited for an approval asks for the approval of its later calls too. */
export async function resumeProgram(
  { token, reason }: Pick<CodeSuspended, "token" | "reason">,
  decision: ResumeInput,
  context: CommandContext,
): Promise<number> {
  const when = reason === "approval" ? "always" : undefined;
  const approval = (context.text("approval") as "unsafe" | "always" | undefined) ?? when;
  const code = await openCode(context, {
    options: {
      ...elicitOnTerminal(context),
      ...(approval !== undefined && { approve: { when: approval } }),
    },
  });
  const answer = { ...decision, answeredBy: answeredByOf(context) };
  const resume = () => code.resume(token, answer, runOptions(context));
  return finish(await context.progress("program", resume), context);
}

async function openCode(context: CommandContext, options: OpenPortOptions): Promise<CodeMode> {
  const { toolport } = await context.openPort({ ...options, principal: principalOf(context) });
  const code = createCodeMode(toolport);
  context.onExit(() => code.close());
  return code;
}

async function readProgram(path: string, context: CommandContext): Promise<string> {
  if (path === "-") return context.readAllInput();
  try {
    return await readFile(resolve(context.cwd, path), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      `${path} cannot be read${code === undefined ? "" : ` (${code})`}`,
      "toolport exec <file>, or - to read the program from stdin",
    );
  }
}

function readLimits(context: CommandContext): CodeLimits {
  const limits: Record<string, number> = {};
  for (const each of context.texts("limit")) {
    const [, name = "", value = ""] = /^(\w+)=(\d+)$/.exec(each) ?? [];
    if (name === "")
      throw new CliError(
        `--limit ${each}: a limit has the form name=number`,
        "toolport exec report.ts --limit calls=500",
      );
    limits[name] = Number(value);
  }
  return { ...(context.timeoutMs !== undefined && { timeMs: context.timeoutMs }), ...limits };
}

/** Shows the program's console and its calls while it runs. */
const runOptions = (context: CommandContext): Pick<ExecuteOptions, "signal" | "onProgress"> => ({
  signal: context.signal,
  onProgress: ({ message = "" }) => context.info(oneLine(message, MAX_SHOWN), "dim"),
});

function finish(outcome: CodeOutcome, context: CommandContext): number {
  if (isSuspended(outcome)) return showSuspended(outcome, context);
  const { value, error } = outcome;
  if (context.form === "json") context.printJson(outcome);
  else if (error === undefined && value !== undefined)
    context.print(typeof value === "string" ? value : JSON.stringify(value, undefined, 2));
  if (error === undefined) return EXIT.ok;
  throw new CliError(error.message, "Correct the program and run it again", {
    code: error.code,
    exitCode: EXIT.toolError,
  });
}
