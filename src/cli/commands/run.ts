/** `toolport run`: a model does a task with the tools, and asks before it changes something. */
import { chooseModel, type ModelApi } from "../../agent/choose-model.js";
import type { Model } from "../../agent/conversation.js";
import { type AgentOutcome, runAgent } from "../../agent/run-agent.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { ApprovalRequest } from "../../execution/approve.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption, type Invocation, textOption, textsOption } from "../command.js";
import { connectServers } from "../connect-servers.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import { oneLine } from "../plain-text.js";
import type { Shell } from "../shell.js";
import { createTurns } from "../turns.js";

const MAX_SHOWN = 300;

export const run: CommandModule["run"] = async (invocation, shell) => {
  const task = invocation.words.join(" ");
  const maxSteps = readMaxSteps(invocation);
  const model = await findModel(invocation, shell);
  const servers = textsOption(invocation, "server");
  const opened = await shell.openPort({
    ...(servers.length > 0 && { servers }),
    options: { approve: createApproval(shell), deferTools: flagOption(invocation, "search") },
  });
  const failed = (await connectServers(shell, opened)).filter(
    ({ status }) => status !== "ok" && status !== "disabled",
  );
  for (const { name, error } of failed) shell.warn(`${name} is not there: ${error?.message ?? ""}`);
  const progress = shell.progress(`Asking ${model.name}`);
  const outcome = await runAgent({
    toolport: opened.toolport,
    model,
    task,
    maxSteps,
    signal: shell.signal,
    onTurn: ({ text, calls }) => {
      if (text !== "" && calls.length > 0) shell.tell(oneLine(text, MAX_SHOWN), "dim");
      for (const { name, args } of calls)
        shell.tell(`→ ${name} ${oneLine(JSON.stringify(args) ?? "", MAX_SHOWN)}`, "cyan");
    },
    onStep: ({ outcomes }) => {
      for (const { name, text, isError } of outcomes)
        shell.tell(`${isError ? "✘" : "←"} ${name}: ${oneLine(text, MAX_SHOWN)}`, isError ? "red" : "dim");
    },
  })
    .catch((error: unknown) => Promise.reject(ofModel(error, model)))
    .finally(() => progress.done());
  return tellEnd(outcome, { model, maxSteps, shell });
};

async function findModel(invocation: Invocation, shell: Shell): Promise<Model> {
  const model = await chooseModel({
    url: textOption(invocation, "model-url"),
    name: textOption(invocation, "model"),
    api: textOption(invocation, "api") as ModelApi | undefined,
    env: shell.env,
    signal: shell.signal,
  });
  if (model !== undefined) return model;
  throw new CliError({
    code: "NO_MODEL",
    exitCode: EXIT.configuration,
    message:
      "There is no model to ask. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name an OpenAI-compatible endpoint with --model-url",
    next: `toolport run ${shellWord(invocation.words.join(" "))} --model-url http://127.0.0.1:11434/v1`,
  });
}

/** One question at a time, however many calls the model makes at once. */
function createApproval(shell: Shell): (request: ApprovalRequest) => Promise<boolean> {
  const inTurn = createTurns();
  return (request) => inTurn(() => approve(request, shell));
}

async function approve({ server, tool, args }: ApprovalRequest, shell: Shell): Promise<boolean> {
  const call = `${server.name}.${tool.sourceName} ${JSON.stringify(args)}`;
  if (shell.agreesToAll) return true;
  if (!shell.isInteractive) {
    shell.warn(
      `${call} was not called: it may change something and nobody can be asked. Use --yes, or set trustAnnotations on servers whose read-only marks you trust`,
    );
    return false;
  }
  return shell.confirm(`Let the model call ${call}?`);
}

/** An error of the model's endpoint is none of a server's: there is nothing to log in to. */
function ofModel(error: unknown, model: Model): unknown {
  if (!ToolportError.isInstance(error) || error.server !== model.host) return error;
  return new CliError({
    code: error.code,
    exitCode: exitCodeOf(error),
    message: `${model.name} at ${model.host}: ${error.what}${error.next === undefined ? "" : `. ${error.next}`}`,
    next: "toolport run --help",
  });
}

interface Ending {
  readonly model: Model;
  readonly maxSteps: number;
  readonly shell: Shell;
}

function tellEnd({ text, steps, endedBy }: AgentOutcome, { model, maxSteps, shell }: Ending): number {
  if (shell.form === "json") shell.printJson({ text, endedBy, model: model.name, steps });
  else if (text !== "") shell.print(text);
  if (endedBy === "answer") return EXIT.ok;
  shell.tell(`The model was not done after ${maxSteps} steps. Allow more with --max-steps`, "yellow");
  return EXIT.other;
}

function readMaxSteps(invocation: Invocation): number {
  const maxSteps = Number(textOption(invocation, "max-steps") ?? 20);
  if (Number.isInteger(maxSteps) && maxSteps > 0) return maxSteps;
  throw new CliError({
    message: "--max-steps needs a whole number above 0",
    next: "toolport run … --max-steps 20",
  });
}
