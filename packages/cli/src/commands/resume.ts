/** `toolport resume`, `suspended` and `discard`: continue, list and give up calls that wait for a person. */

import { ToolCallError } from "@toolport/base";
import { isSuspended, type ResumeInput, type Suspended } from "@toolport/core";
import { readObject } from "../call-arguments.js";
import { finishCall } from "../call-result.js";
import type { CommandContext, CommandSpec, OpenedPort, PositionalSpec, RunCommand } from "../command.js";
import { ANSWERED_BY_OPTION, flag, PRINCIPAL_OPTION, SAVE_IMAGES, text } from "../command-options.js";
import { CliError, usageError } from "../errors.js";
import {
  answeredByOf,
  askDecision,
  findWaiting,
  listSuspended,
  openWaitingCalls,
  principalOf,
  readToken,
  showSuspended,
} from "../suspended-calls.js";

export const suspendedCommand: CommandSpec = {
  name: "suspended",
  summary: "List the calls that wait for a person",
  group: "use",
  positionals: [],
  options: PRINCIPAL_OPTION,
  examples: [["toolport suspended", "what they wait for, and their tokens"]],
  load: async () => (await import("./resume.js")).runSuspended,
};

const TOKEN: PositionalSpec = {
  name: "token",
  summary: "Token of the call, or - to read it from stdin, which other users of this machine cannot see",
};

export const resumeCommand: CommandSpec = {
  name: "resume",
  summary: "Answer or approve a call that waits, and finish it",
  group: "use",
  positionals: [TOKEN],
  options: {
    answers: text("<json>", "The answer to each question by its key, or - to read them from stdin"),
    approve: flag("Approve the call"),
    refuse: flag("Do not approve the call, which ends it"),
    again: flag("Send the call although it may have run already"),
    restart: flag("Begin the call anew if the server no longer knows it"),
    approval: text(
      "<when>",
      "For a program: which of its later calls wait for an approval (always, if it waited for one)",
      ["unsafe", "always"],
    ),
    ...SAVE_IMAGES,
    ...PRINCIPAL_OPTION,
    ...ANSWERED_BY_OPTION,
  },
  examples: [
    ["toolport resume -", "asks for the token, then for the answers"],
    [
      `toolport resume - --answers '{"seat":{"action":"accept","content":{"row":12}}}' < token`,
      "without a terminal",
    ],
    ["toolport resume - --approve < token", "approve the call"],
  ],
  load: async () => (await import("./resume.js")).runResume,
};

export const discardCommand: CommandSpec = {
  name: "discard",
  summary: "Give up a call that waits; nothing is sent",
  group: "use",
  positionals: [TOKEN],
  options: PRINCIPAL_OPTION,
  examples: [["toolport discard - < token", "its token works no longer"]],
  load: async () => (await import("./resume.js")).runDiscard,
};

/** Tokens of programs begin with it. */
const PROGRAM_PREFIX = "tpp1.";

export const runResume: RunCommand = async (context) => {
  const input = await readDecision(context);
  const waiting = await openWaitingCalls(context);
  const token = await readToken(context);
  if (token.startsWith(PROGRAM_PREFIX)) return resumeProgram(token, input, context);
  const target = await findWaiting(waiting, token, context.signal);
  const principal = principalOf(context);
  // Ask before any server is started.
  let decision = input ?? (await decide(target.call, context));
  if (decision === undefined) return postpone(target.call!, context);
  const opened = await context.openPort({ servers: [target.server], principal });
  const leftOut = opened.leftOut.get(target.server);
  if (leftOut !== undefined) throw leftOut;
  let next = { token, tool: target.tool };
  for (;;) {
    const outcome = await send(opened, next.token, decision, context);
    if (!isSuspended(outcome)) {
      const { server } = outcome;
      const { tool: name } = next;
      // The port knows the name of the tool at its server if it has read its list.
      const tool = opened.toolport.snapshot().tools.find((each) => each.name === name);
      return finishCall(outcome, tool ?? { server, name, sourceName: name }, context);
    }
    // A login that is not over: asking again at once would not help.
    const isSame = outcome.token === next.token;
    next = outcome;
    if (isSame || !context.isInteractive) return showSuspended(outcome, context);
    const following = await askDecision(context, outcome, principal);
    if (following === undefined) return postpone(outcome, context);
    decision = following;
  }
};

async function resumeProgram(
  token: string,
  given: ResumeInput | undefined,
  context: CommandContext,
): Promise<number> {
  const programs = await import("./exec.js");
  const program = await programs.findProgram(token, context);
  // An unknown token is reported by the code mode.
  const decision = given ?? (await decide(program, context));
  if (decision === undefined) return postpone(program!, context);
  return programs
    .resumeProgram(program ?? { token, reason: "input" }, decision, context)
    .catch((error: unknown) => Promise.reject(toWrongDecision(error) ?? error));
}

/** The decision of the options; undefined if there is none. */
async function readDecision(context: CommandContext): Promise<ResumeInput | undefined> {
  const [approve, refuse, again, restart] = ["approve", "refuse", "again", "restart"].map((name) =>
    context.flag(name),
  );
  const answers = context.text("answers");
  if ([approve, refuse, answers !== undefined, restart].filter(Boolean).length > 1)
    throw usageError("resume", "Give one of --answers, --approve, --refuse and --restart");
  if (answers === "-" && context.words[0] === "-")
    throw usageError("resume", "The token and --answers cannot both come from stdin");
  const what = "--answers requires a JSON object: the answer to each question, by its key";
  const values = await readObject(context, "answers", usageError("resume", what));
  const input: ResumeInput = {
    ...((approve || refuse) && { approve: approve! }),
    ...(values !== undefined && { answers: values as ResumeInput["answers"] & {} }),
    ...(again && { again }),
    ...(restart && { restart }),
  };
  return Object.keys(input).length > 0 ? input : undefined;
}

/** Without options: a login needs no decision, and everything else is asked at the terminal. */
async function decide(
  call: Suspended | undefined,
  context: CommandContext,
): Promise<ResumeInput | undefined> {
  // The outcome of the call is unknown: the port says so.
  if (call === undefined) return {};
  if (context.isInteractive) return askDecision(context, call, principalOf(context));
  if (call.reason === "login") return {};
  const [what, how] =
    call.reason === "approval"
      ? ["an approval", "--approve or --refuse"]
      : ["answers", `--answers '${exampleOf(call)}'`];
  throw usageError("resume", `The call waits for ${what}, and there is no terminal. Use ${how}`);
}

/** Answers in the right shape, to be filled in. */
const exampleOf = ({ requests }: Extract<Suspended, { reason: "input" }>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(requests).map(([key, { mode }]) => [
        key,
        { action: "accept", ...(mode !== "url" && { content: {} }) },
      ]),
    ),
  );

function postpone(call: Suspended, context: CommandContext): number {
  context.info("Nothing was sent; the call still waits", "dim");
  return showSuspended(call, context);
}

async function send({ toolport }: OpenedPort, token: string, decision: ResumeInput, context: CommandContext) {
  const answer = { ...decision, answeredBy: answeredByOf(context) };
  try {
    return await context.progress("Resuming", () => toolport.resume(token, answer, context.callOptions));
  } catch (error) {
    throw toWrongDecision(error) ?? error;
  }
}

/** Answers that do not fit the questions. Other invalid arguments would suggest to look at the tool. */
function toWrongDecision(error: unknown): CliError | undefined {
  if (!(error instanceof ToolCallError) || error.code !== "INVALID_ARGUMENTS") return undefined;
  const { code, what, next, issues, server, tool } = error;
  return new CliError(next === undefined ? what : `${what}. ${next}`, "toolport suspended --json", {
    code,
    server,
    tool,
    issues,
  });
}

export const runSuspended: RunCommand = async (context) => {
  const waiting = await openWaitingCalls(context);
  listSuspended(await waiting.suspended(), context);
};

export const runDiscard: RunCommand = async (context) => {
  const waiting = await openWaitingCalls(context);
  await waiting.discard(await readToken(context), { answeredBy: "cli" });
  if (context.form === "json") context.printJson({ discarded: true });
  else context.info("The call was discarded; nothing was sent", "green");
};
