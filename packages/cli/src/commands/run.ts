/** `toolport run`: a model does a task with the tools. The user approves calls that may change something. */
import type { ToolSource } from "@toolport/adapters/internal";
import { ToolportError } from "@toolport/base";
import type { ApprovalRequest, Toolport, ToolportOptions } from "@toolport/core";
import { type AgentOutcome, chooseModel, type Model, type ModelApi, runAgent } from "../agent.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { flag, MODEL_OPTIONS, number, text, texts } from "../command-options.js";
import { connectServers } from "../connect-servers.js";
import { CliError, configurationError, EXIT, exitCodeOf, usageError } from "../errors.js";
import { about, COSTLY_TOKENS, oneLine } from "../plain-text.js";
import { createSerialQueue } from "../questions.js";
import { shellWord } from "../shell-words.js";

export const runCommand: CommandSpec = {
  name: "run",
  summary: "Let a model do a task with the tools",
  group: "use",
  positionals: [{ name: "task", summary: "The task, in plain words", rest: true }],
  options: {
    ...MODEL_OPTIONS,
    api: text("<kind>", "API of the endpoint (guessed from its URL)", ["openai", "anthropic"]),
    server: texts("<name>", "Only the tools of this server"),
    "max-steps": number("<count>", "Maximum number of requests to the model (20)", { min: 1 }),
    defer: text(
      "<when>",
      "Give the model a tool search instead of all tools; auto: above 10,000 tokens (never)",
      ["auto", "always", "never"],
    ),
    search: flag("Short for --defer always"),
    code: flag("Let the model write programs that call the tools (code mode)"),
  },
  examples: [
    ['toolport run "What will the weather be in Oslo?"', "with OPENAI_API_KEY or ANTHROPIC_API_KEY"],
    ['toolport run "Tidy my notes" --model-url http://127.0.0.1:11434/v1', "with a local model"],
    ['toolport run "Close stale issues" --defer auto', "with more tools than a model should get at once"],
  ],
  load: async () => (await import("./run.js")).runTask,
};

const MAX_SHOWN = 300;

type DeferMode = NonNullable<Extract<ToolportOptions["deferTools"], object>["mode"]>;

export const runTask: RunCommand = async (context) => {
  const task = context.words.join(" ");
  const maxSteps = context.number("max-steps") ?? 20;
  const model = await findModel(context);
  // Ask one question at a time, even if the model makes several calls at once.
  const enqueue = createSerialQueue();
  const opened = await context.openPort({
    servers: context.texts("server"),
    isSpecial: true,
    options: {
      approve: (request) => enqueue(() => approve(request, context)),
      deferTools: { mode: readDeferMode(context) },
    },
  });
  const failed = (await connectServers(context, opened)).filter(
    ({ status }) => status !== "ok" && status !== "disabled",
  );
  for (const { name, error } of failed) context.warn(`${name} is not available: ${error?.message ?? ""}`);
  const tools = context.flag("code")
    ? await openCode(opened.toolport, context)
    : await warnOfCost(opened.toolport, context);
  const agent = {
    toolport: tools,
    model,
    task,
    maxSteps,
    signal: context.signal,
    onTurn: ({ text, calls }) => {
      if (text !== "" && calls.length > 0) context.info(oneLine(text, MAX_SHOWN), "dim");
      for (const { name, args } of calls)
        context.info(`→ ${name} ${oneLine(JSON.stringify(args) ?? "", MAX_SHOWN)}`, "cyan");
    },
    onStep: ({ outcomes }) => {
      for (const { name, text, isError } of outcomes)
        context.info(`${isError ? "✘" : "←"} ${name}: ${oneLine(text, MAX_SHOWN)}`, isError ? "red" : "dim");
    },
  } satisfies Parameters<typeof runAgent>[0];
  const outcome = await context
    .progress(`Waiting for ${model.name}`, () => runAgent(agent))
    .catch((error: unknown) => Promise.reject(toModelError(error, model)));
  return reportEnd(outcome, model, maxSteps, context);
};

function readDeferMode(context: CommandContext): DeferMode {
  const mode = context.text("defer") as DeferMode | undefined;
  if (!context.flag("search")) return mode ?? "never";
  if (mode === undefined || mode === "always") return "always";
  throw usageError("run", `--search and --defer ${mode} contradict each other`);
}

/** The model gets two tools, and writes programs that call the others. */
async function openCode(toolport: Toolport, context: CommandContext): Promise<ToolSource> {
  const { createCodeMode } = await import("@toolport/code");
  const code = createCodeMode(toolport);
  context.onExit(() => code.close());
  return code;
}

/** Every request of the run contains the definitions again. */
async function warnOfCost(toolport: Toolport, context: CommandContext): Promise<Toolport> {
  const { shown } = await toolport.cost({ signal: context.signal });
  if (shown > COSTLY_TOKENS)
    context.warn(
      `The definitions of the tools take ${about(shown)} tokens in every request. Give the model a search instead with --defer auto, or limit it to servers with --server`,
    );
  return toolport;
}

async function findModel(context: CommandContext): Promise<Model> {
  const model = await chooseModel({
    url: context.text("model-url"),
    name: context.text("model"),
    api: context.text("api") as ModelApi | undefined,
    env: context.env,
    signal: context.signal,
  });
  if (model !== undefined) return model;
  throw configurationError(
    "NO_MODEL",
    "No model is configured. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or give an OpenAI-compatible endpoint with --model-url",
    `toolport run ${shellWord(context.words.join(" "))} --model-url http://127.0.0.1:11434/v1`,
  );
}

async function approve({ server, tool, args }: ApprovalRequest, context: CommandContext): Promise<boolean> {
  const call = `${server.name}.${tool.sourceName} ${JSON.stringify(args)}`;
  if (context.agreesToAll) return true;
  if (!context.isInteractive) {
    context.warn(
      `${call} was not called: it may change something, and there is no terminal to ask for approval. Use --yes, or set trustAnnotations on servers whose readOnlyHint you trust`,
    );
    return false;
  }
  return context.confirm(`Let the model call ${call}?`);
}

/** Errors of the model's endpoint must not suggest `toolport auth`, as errors of a server do. */
function toModelError(error: unknown, model: Model): unknown {
  if (!ToolportError.isInstance(error) || error.server !== model.host) return error;
  return new CliError(
    `${model.name} at ${model.host}: ${error.what}${error.next === undefined ? "" : `. ${error.next}`}`,
    "toolport run --help",
    { code: error.code, exitCode: exitCodeOf(error) },
  );
}

function reportEnd(
  { text, steps, endedBy }: AgentOutcome,
  model: Model,
  maxSteps: number,
  context: CommandContext,
): number {
  if (context.form === "json") context.printJson({ text, endedBy, model: model.name, steps });
  else if (text !== "") context.print(text);
  if (endedBy === "answer") return EXIT.ok;
  context.info(`The model did not finish within ${maxSteps} steps. Allow more with --max-steps`, "yellow");
  return EXIT.other;
}
