/**
 * A script that replaces the language model in the demo. For every line of the task it searches for a tool with the words of
 * that line, takes the first one found, and fills in dates, numbers and quoted words.
 */

/** A turn of the model: a tool call or the final answer. */
export type ModelTurn =
  | { readonly kind: "call"; readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "answer"; readonly text: string };

/** Receives the last tool result (undefined at first) and returns the next turn. */
export type Model = (lastAnswer: string | undefined) => ModelTurn;

interface FoundTool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> };
}

/** Creates a scripted model for a task. */
export function createScriptedModel(task: readonly string[]): Model {
  const turns = follow(task);
  let isStarted = false;
  return (lastAnswer) => {
    // A generator ignores the first value.
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
