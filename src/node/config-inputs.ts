/** Answers to what a file asks its user for: VS Code's `inputs`. */
import { isRecord } from "../config/entry-reader.js";
import type { VariableValue } from "./expand-variables.js";

/** A question of a file, as it puts it. */
export interface ConfigInput {
  readonly id: string;
  /** The file that asks. */
  readonly file: string;
  readonly description: string | undefined;
  /** The answer is a secret: do not show it while it is typed, nor later. */
  readonly password: boolean;
  readonly default: string | undefined;
  /** The only answers there are, if it is a choice. */
  readonly options: readonly string[] | undefined;
}

/** Answers by id, or a function that asks the user. Without an answer, the default of the file counts. */
export type InputAnswers =
  | Readonly<Record<string, string>>
  | ((input: ConfigInput) => string | undefined | Promise<string | undefined>);

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function readInput(file: string, id: string, declared: unknown): ConfigInput {
  const fields = isRecord(declared) ? declared : {};
  const options = Array.isArray(fields["options"])
    ? fields["options"].flatMap((option: unknown) => text(isRecord(option) ? option["value"] : option) ?? [])
    : undefined;
  return {
    id,
    file,
    description: text(fields["description"]),
    password: fields["password"] === true,
    default: text(fields["default"]),
    options,
  };
}

/** Returns what finds the answer for an id; each is asked for once. */
export function createInputs(
  file: string,
  declared: unknown,
  answers: InputAnswers | undefined,
): (id: string) => Promise<VariableValue> {
  const list: unknown[] = Array.isArray(declared) ? declared : [];
  const asked = new Map<string, Promise<VariableValue>>();
  const ask = async (id: string): Promise<VariableValue> => {
    const found = list.findLast((item) => isRecord(item) && item["id"] === id);
    const input = readInput(file, id, found);
    const given =
      typeof answers === "function"
        ? await answers(input)
        : answers !== undefined && Object.hasOwn(answers, id)
          ? answers[id]
          : undefined;
    const value = given ?? input.default;
    if (typeof value !== "string") return { problem: noAnswer(input) };
    if (input.options !== undefined && !input.options.includes(value)) {
      return { problem: `got an answer for the input "${id}" that is not among its options` };
    }
    return { value, secret: input.password };
  };
  return (id) => {
    const answer = asked.get(id) ?? ask(id);
    asked.set(id, answer);
    return answer;
  };
}

function noAnswer({ id, description }: ConfigInput): string {
  const what = description === undefined ? "" : ` (${description.slice(0, 80)})`;
  return `needs an answer to the input "${id}"${what}; give it as loadConfig(…, { inputs: { "${id}": "…" } })`;
}
