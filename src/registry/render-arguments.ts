/** Writes a list of arguments as a command line has them: an array, for no shell to look at. */
import type { InputDesk, InputPlace } from "./input-desk.js";
import type { ServerArgument } from "./server-json.js";

/** What came of the arguments. */
export interface RenderedArguments {
  readonly args: readonly string[];
  /** Their values by name, for the address of a package that listens on a port. */
  readonly values: ReadonlyMap<string, string>;
}

/** `--flag value`, as programs expect it; joined where a value with a dash would pass for the next option. */
const named = (name: string, value: string): string[] => {
  if (value === "") return [name];
  return value.startsWith("-") && name.startsWith("--") ? [`${name}=${value}`] : [name, value];
};

/** The flag alone, if the user said `true` to something that is not declared as a boolean; nothing after `false`. */
function bareFlag(argument: ServerArgument, desk: InputDesk): string[] | undefined {
  const { type, name = "", value, format } = argument;
  if (type !== "named" || value !== undefined || format === "boolean") return undefined;
  const given = desk.given(name);
  if (typeof given !== "boolean") return undefined;
  // Asked so that the input counts as known; its answer is a text and of no use here.
  desk.ask(
    name,
    { ...argument, choices: undefined, format: "string" },
    { where: "argument", isRequired: false },
  );
  return given ? [name] : [];
}

/** Arguments that have no value and need none are left out; those that need one are noted at the desk. */
export function renderArguments(
  list: readonly ServerArgument[],
  desk: InputDesk,
  where: InputPlace,
): RenderedArguments {
  const args: string[] = [];
  const values = new Map<string, string>();
  for (const [index, argument] of list.entries()) {
    const { type, isRequired = false, isRepeated } = argument;
    const name = (type === "named" ? argument.name : argument.valueHint) ?? `argument${index + 1}`;
    const flag = bareFlag(argument, desk);
    if (flag !== undefined) {
      args.push(...flag);
      continue;
    }
    const isBare = type === "positional";
    const texts = desk.resolve(name, argument, { where, isRequired, isRepeated, isBare }) ?? [];
    for (const text of texts) args.push(...(type === "named" ? named(name, text) : [text]));
    if (texts[0] !== undefined) values.set(name, texts[0]);
  }
  return { args, values };
}
