/** Runs an agent loop on the demo's servers, with a scripted or a real model. */
import { createToolport, type Toolport } from "@toolport/core";
import { type Model, runAgent } from "../agent.js";
import { CALL_LIMIT, CALLS } from "./connect-and-call.js";
import type { DemoServers } from "./servers.js";
import { check } from "./step-runner.js";

/** The task by lines, with the call that answers each. */
const SCRIPT = {
  "Count the days between 2026-01-01 and 2026-12-24": CALLS.calendar,
  "Convert 21 degrees Celsius to Fahrenheit": CALLS.units,
  'Say what the word "port" means': CALLS.dictionary,
};
const TASK = Object.keys(SCRIPT);
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

/** The script searches for a tool for each line of the task, and calls it. */
async function followScript({ toolport, called, report }: Work): Promise<void> {
  const call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<string> => {
    const { text } = await toolport.callTool(tool, args, CALL_LIMIT);
    report(`script: ${tool} ${JSON.stringify(args)} → ${shorten(text)}`);
    return text;
  };
  for (const [line, { name, args, answer }] of Object.entries(SCRIPT)) {
    const found = shorten(await call("search_tools", { query: line, limit: 1 }));
    check(found === name, `${line}: ${found} was found, not ${name}`);
    const text = await call("call_tool", { name, arguments: args });
    check(text.includes(answer), `${name} returned ${JSON.stringify(text)}, not ${JSON.stringify(answer)}`);
  }
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
