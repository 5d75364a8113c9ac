/** Resolves the `inputs` of VS Code files, which ask the user for values. */
import { isRecord } from "../util/json.js";
import type { VariableValue } from "./expand-variables.js";

/** An input as the file declares it. */
export interface ConfigInput {
  readonly id: string;
  /** The file that declares the input. */
  readonly file: string;
  readonly description: string | undefined;
  /** The value is a secret: do not display it. */
  readonly password: boolean;
  readonly default: string | undefined;
  /** The allowed values of a choice. */
  readonly options: readonly string[] | undefined;
}

/** Values by id, or a function that asks the user. Without a value, the default of the file is used. */
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

/** Returns a function that resolves an input by id. Each input is asked for once. */
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
    if (typeof value !== "string") return { problem: missingInput(input) };
    if (input.options !== undefined && !input.options.includes(value)) {
      return { problem: `got a value for the input "${id}" that is not one of its options` };
    }
    return { value, secret: input.password };
  };
  return (id) => {
    const answer = asked.get(id) ?? ask(id);
    asked.set(id, answer);
    return answer;
  };
}

function missingInput({ id, description }: ConfigInput): string {
  const what = description === undefined ? "" : ` (${description.slice(0, 80)})`;
  return `needs a value for the input "${id}"${what}; pass it as loadConfig(…, { inputs: { "${id}": "…" } })`;
}
