/** What stands in for a language model: a script. It understands nothing and says only what its rules say. */
import type { AgentModel, AgentState, AgentTurn } from "./agent-loop.js";

/** One thing the script says, and when. */
export interface ScriptRule {
  /**
   * What must be in the last thing said (the prompt at first, then what the tools answered) for the rule to be used.
   * @default nothing: the rule fits always
   */
  readonly when?: string | RegExp | ((state: AgentState) => boolean);
  /** The answer, the turn, or what makes it of all that was said. */
  readonly say: string | AgentTurn | ((state: AgentState) => string | AgentTurn);
  /** How often the rule may be used. @default 1 */
  readonly times?: number;
}

/**
 * Makes a model that follows rules: each turn, the first that fits and is not used up. Rules without `when` are thus
 * played one after the other.
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
    const said = lastSaid(state);
    const index = rules.findIndex((rule, place) => left[place]! > 0 && fits(rule, state, said));
    const rule = rules[index];
    if (rule === undefined)
      throw new Error(`The script has no rule for what was said last: ${JSON.stringify(said.slice(0, 200))}`);
    left[index]! -= 1;
    const turn = typeof rule.say === "function" ? rule.say(state) : rule.say;
    return typeof turn === "string" ? { text: turn } : turn;
  };
}

const lastSaid = ({ prompt, answers }: AgentState): string =>
  answers.length === 0 ? prompt : answers.map(({ text }) => text).join("\n");

function fits({ when }: ScriptRule, state: AgentState, said: string): boolean {
  if (when === undefined) return true;
  if (typeof when === "function") return when(state);
  // Not `test`, which remembers where it was with the flag `g`.
  return typeof when === "string" ? said.includes(when) : said.search(when) >= 0;
}
