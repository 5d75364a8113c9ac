/**
 * What stands in for a language model in the demo: a script. It understands nothing. For every line of the task it
 * searches for a tool with the words of that line, takes the first one found and fills in dates, numbers and quoted words.
 */

/** What a model says: something to be done with a tool, or its answer. */
export type ModelTurn =
  | { readonly kind: "call"; readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "answer"; readonly text: string };

/** Gets what the last tool answered (nothing at first), gives the next turn. */
export type Model = (lastAnswer: string | undefined) => ModelTurn;

interface FoundTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> };
}

/** Makes a model that follows the script through a task. */
export function createScriptedModel(task: readonly string[]): Model {
  const turns = follow(task);
  let isStarted = false;
  return (lastAnswer) => {
    // The first value given to a generator goes nowhere.
    const { value } = isStarted ? turns.next(lastAnswer ?? "") : turns.next("");
    isStarted = true;
    return value;
  };
}

function* follow(task: readonly string[]): Generator<ModelTurn, ModelTurn, string> {
  const findings: string[] = [];
  for (const line of task) {
    const found = yield { kind: "call", tool: "search_tools", args: { query: line, limit: 1 } };
    const [tool] = (JSON.parse(found) as { tools: readonly FoundTool[] }).tools;
    if (tool === undefined) findings.push(`${line}: there is no tool for that`);
    else {
      const args = { name: tool.name, arguments: fillIn(tool, line) };
      findings.push(`${line}: ${yield { kind: "call", tool: "call_tool", args }}`);
    }
  }
  return { kind: "answer", text: findings.join("\n") };
}

/** Numbers for parameters that are numbers; dates, or else quoted words, for those that are texts; each in its turn. */
function fillIn({ inputSchema }: FoundTool, line: string): Record<string, unknown> {
  const dates = line.match(/\d{4}-\d{2}-\d{2}/g);
  const texts: string[] = dates ?? [...line.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text);
  const numbers = (line.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
  const parameters = Object.entries(inputSchema.properties ?? {});
  return Object.fromEntries(
    parameters.map(([name, { type }]) => [name, type === "string" ? texts.shift() : numbers.shift()]),
  );
}
