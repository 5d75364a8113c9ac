/** Runs an agent loop on the demo's servers, with a scripted or a real model. */
import { type Model, runAgent } from "../agent/run-agent.js";
import { createToolport, type Toolport } from "../../index.js";
import { CALL_LIMIT } from "./call-tools.js";
import type { DemoServers } from "./servers.js";
import { check, type ShowProgress, type StepOutcome } from "./step-runner.js";

const TASK = [
  "Count the days between 2026-01-01 and 2026-12-24",
  "Convert 21 degrees Celsius to Fahrenheit",
  'Say what the word "port" means',
];
const EXPECTED = ["357", '{"fahrenheit":69.8}', "a place where ships load and unload"];
/** A real model words its answer freely: only these figures must occur. */
const EXPECTED_FIGURES = ["357", "69.8"];
const MAX_TURNS = 12;

/** @param model undefined for the scripted model */
export async function letAgentWork(
  { mcpServers }: DemoServers,
  model: Model | undefined,
  show: ShowProgress,
): Promise<StepOutcome> {
  const { calendar, units, dictionary } = mcpServers;
  const called: string[] = [];
  await using toolport = createToolport({
    mcpServers: { calendar, units, dictionary },
    deferTools: true,
    onServerError: "throw",
    listeners: [{ before: ({ name }) => void called.push(name ?? "") }],
  });
  await toolport.connect();
  const offered = (await toolport.tools()).map(({ name }) => name);
  check(offered.join() === "search_tools,call_tool", `the model was given ${offered.join(", ")}`);
  const details = [
    model === undefined
      ? "a script with simple rules replaces the model (src/cli/demo/agent-loop.ts)"
      : `a real model is used: ${model.name} at ${model.host}`,
    `it is given ${offered.join(" and ")}, and this task:`,
    ...TASK.map((line) => `  ${line}`),
  ];
  const report = (line: string) => {
    details.push(line);
    show(details);
  };
  if (model === undefined) await followScript({ toolport, called, report });
  else await followModel({ toolport, called, report }, model);
  return { details };
}

interface Work {
  readonly toolport: Toolport;
  /** Names of the tools called so far. */
  readonly called: readonly string[];
  readonly report: (line: string) => void;
}

async function followScript({ toolport, called, report }: Work): Promise<void> {
  const turns = follow(TASK);
  // A generator ignores the first value.
  let said = turns.next("").value;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    if (said.kind === "answer") {
      const { text: answer } = said;
      const wrong = EXPECTED.find((text) => !answer.includes(text));
      check(wrong === undefined, `the answer ${JSON.stringify(answer)} lacks ${wrong}`);
      check(called.length === 3, `${called.length} tools were called, not 3`);
      report(`script: done, with ${called.length} tools called: ${called.join(", ")}`);
      return;
    }
    const { text } = await toolport.callTool(said.tool, said.args, CALL_LIMIT);
    report(`script: ${describe(said)} → ${shorten(text)}`);
    said = turns.next(text).value;
  }
  throw new Error(`the script did not finish within ${MAX_TURNS} turns`);
}

async function followModel({ toolport, called, report }: Work, model: Model): Promise<void> {
  const { text, endedBy } = await runAgent({
    toolport,
    model,
    task: TASK.join("\n"),
    maxSteps: MAX_TURNS,
    onStep: ({ calls, outcomes }) => {
      for (const [index, { name, args }] of calls.entries()) {
        const answer = outcomes[index];
        report(`model: ${name} ${JSON.stringify(args)} → ${shorten(answer?.text ?? "")}`);
      }
    },
  });
  check(endedBy === "answer", `the model did not finish within ${MAX_TURNS} turns`);
  const wrong = EXPECTED_FIGURES.find((figure) => !text.includes(figure));
  check(wrong === undefined, `the model's answer ${JSON.stringify(text)} lacks ${wrong}`);
  check(called.length > 0, "the model called no tool");
  for (const line of text.split("\n")) report(`model: ${line}`);
  report(`done, with ${called.length} tools called: ${called.join(", ")}`);
}

const describe = ({ tool, args }: Extract<ModelTurn, { kind: "call" }>): string =>
  `${tool} ${JSON.stringify(args)}`;

/** Shortens a search result to the names of the tools. */
function shorten(text: string): string {
  if (!text.startsWith('{"tools"')) return text;
  return (JSON.parse(text) as { tools: { name: string }[] }).tools.map(({ name }) => name).join(", ");
}

/** A turn of the model: a tool call or the final answer. */
type ModelTurn =
  | { readonly kind: "call"; readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "answer"; readonly text: string };

interface FoundTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> };
}

/** The turns of a scripted model for a task. Receives the result of each tool call. */
function* follow(task: readonly string[]): Generator<ModelTurn, ModelTurn, string> {
  const findings: string[] = [];
  for (const line of task) {
    const found = yield { kind: "call", tool: "search_tools", args: { query: line, limit: 1 } };
    const [tool] = (JSON.parse(found) as { tools: readonly FoundTool[] }).tools;
    if (tool === undefined) findings.push(`${line}: no tool found`);
    else {
      const args = { name: tool.name, arguments: fillIn(tool, line) };
      findings.push(`${line}: ${yield { kind: "call", tool: "call_tool", args }}`);
    }
  }
  return { kind: "answer", text: findings.join("\n") };
}

/** Fills parameters in order: numbers from the line, and dates or quoted words for strings. */
function fillIn({ inputSchema }: FoundTool, line: string): Record<string, unknown> {
  const dates = line.match(/\d{4}-\d{2}-\d{2}/g);
  const texts: string[] = dates ?? [...line.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text);
  const numbers = (line.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
  const parameters = Object.entries(inputSchema.properties ?? {});
  return Object.fromEntries(
    parameters.map(([name, { type }]) => [name, type === "string" ? texts.shift() : numbers.shift()]),
  );
}
