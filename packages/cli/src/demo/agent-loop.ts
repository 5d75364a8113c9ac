/** Runs an agent loop on the demo's servers, with a scripted or a real model. */
import { createToolport, type Toolport } from "@toolport/core";
import { type Model, runAgent } from "../agent.js";
import { CALL_LIMIT } from "./connect-and-call.js";
import type { DemoServers } from "./servers.js";
import { check } from "./step-runner.js";

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
export async function letAgentWork({ mcpServers }: DemoServers, model: Model | undefined): Promise<string[]> {
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
      ? "a script with simple rules replaces the model (packages/cli/src/demo/agent-loop.ts)"
      : `a real model is used: ${model.name} at ${model.host}`,
    `it is given ${offered.join(" and ")}, and this task:`,
    ...TASK.map((line) => `  ${line}`),
  ];
  const report = (line: string) => void details.push(line);
  if (model === undefined) await followScript({ toolport, called, report });
  else await followModel({ toolport, called, report }, model);
  return details;
}

interface Work {
  readonly toolport: Toolport;
  /** Names of the tools called so far. */
  readonly called: readonly string[];
  readonly report: (line: string) => void;
}

/** The script searches for a tool for each line of the task, and calls the first one. */
async function followScript({ toolport, called, report }: Work): Promise<void> {
  const call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<string> => {
    const { text } = await toolport.callTool(tool, args, CALL_LIMIT);
    report(`script: ${tool} ${JSON.stringify(args)} → ${shorten(text)}`);
    return text;
  };
  const findings: string[] = [];
  for (const line of TASK) {
    const text = await call("search_tools", { query: line, limit: 1 });
    const [tool] = (JSON.parse(text) as { tools: readonly FoundTool[] }).tools;
    check(tool !== undefined, `${line}: no tool found`);
    findings.push(await call("call_tool", { name: tool.name, arguments: fillIn(tool, line) }));
  }
  const wrong = EXPECTED.find((text, index) => !findings[index]?.includes(text));
  check(wrong === undefined, `the answer ${JSON.stringify(findings.join("\n"))} lacks ${wrong}`);
  check(called.length === 3, `${called.length} tools were called, not 3`);
  report(`script: done, with ${called.length} tools called: ${called.join(", ")}`);
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

/** Shortens a search result to the names of the tools. */
function shorten(text: string): string {
  if (!text.startsWith('{"tools"')) return text;
  return (JSON.parse(text) as { tools: { name: string }[] }).tools.map(({ name }) => name).join(", ");
}

interface FoundTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> };
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
