/** A scripted replacement for a language model: returns turns by rules. */
import type { AgentModel, AgentState, AgentTurn } from "./agent-loop.js";

/** One rule: when it applies, and the turn it returns. */
export interface ScriptRule {
  /**
   * Must match the last text (the prompt in the first turn, then the results of the tools).
   * @default the rule always applies
   */
  readonly when?: string | RegExp | ((state: AgentState) => boolean);
  /** The final text, the turn, or a function that returns one of them. */
  readonly say: string | AgentTurn | ((state: AgentState) => string | AgentTurn);
  /** How often the rule may apply. @default 1 */
  readonly times?: number;
}

/**
 * Creates a model that follows rules. Every turn uses the first rule that applies and is not used up, so that rules without
 * `when` are used one after the other.
 *
 * @example
 * ```ts
 * const model = createScriptedModel([
 *   { when: "weather", say: { calls: [{ tool: "weather__forecast", args: { city: "Oslo" } }] } },
 *   { say: ({ answers }) => `They say: ${answers[0]?.text}` },
 * ]);
 * ```
 */
export function createScriptedModel(rules: readonly ScriptRule[]): AgentModel {
  const left = rules.map(({ times = 1 }) => times);
  return (state) => {
    const text = lastText(state);
    const index = rules.findIndex((rule, index) => left[index]! > 0 && applies(rule, state, text));
    const rule = rules[index];
    if (rule === undefined)
      throw new Error(`The script has no rule for the last text: ${JSON.stringify(text.slice(0, 200))}`);
    left[index]! -= 1;
    const turn = typeof rule.say === "function" ? rule.say(state) : rule.say;
    return typeof turn === "string" ? { text: turn } : turn;
  };
}

const lastText = ({ prompt, answers }: AgentState): string =>
  answers.length === 0 ? prompt : answers.map(({ text }) => text).join("\n");

function applies({ when }: ScriptRule, state: AgentState, text: string): boolean {
  if (when === undefined) return true;
  if (typeof when === "function") return when(state);
  // Not `test()`, which is stateful with the flag `g`.
  return typeof when === "string" ? text.includes(when) : text.search(when) >= 0;
}
