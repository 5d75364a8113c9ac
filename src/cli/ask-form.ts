/** Asks the fields of a form at the terminal, one after the other, and repeats a question whose answer is invalid. */
import { completeForm, type FormValue } from "../protocol/server-requests/complete-form.js";
import type { FormSchema } from "../protocol/server-requests/elicitation-request.js";
import type { CommandContext } from "./command-context.js";

/** The schema of one field, as far as questions need it. It comes from the server. */
interface Field {
  readonly type?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly default?: unknown;
  readonly enum?: unknown;
  readonly enumNames?: unknown;
  readonly oneOf?: unknown;
  readonly items?: { readonly enum?: unknown; readonly anyOf?: unknown };
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

/** An empty text, which Enter alone cannot express. */
const EMPTY_TEXT = '""';

/** The content of the form; undefined if the input ends (Ctrl-D). Enter leaves a field out, or takes its default. */
export async function askForm(
  context: Pick<CommandContext, "ask" | "info">,
  { properties, required = [] }: FormSchema,
): Promise<Record<string, FormValue> | undefined> {
  const content: [string, FormValue][] = [];
  for (const [name, field] of Object.entries(properties as Record<string, Field>)) {
    const answer = await askField(context, { name, field, isRequired: required.includes(name) });
    if (answer === undefined) return undefined;
    content.push(...Object.entries(answer));
  }
  return Object.fromEntries(content);
}

/** The field with its valid value, or an empty object; undefined if the input ends. */
async function askField(
  { ask, info }: Pick<CommandContext, "ask" | "info">,
  { name, field, isRequired }: { name: string; field: Field; isRequired: boolean },
): Promise<Record<string, FormValue> | undefined> {
  const choices = choicesOf(field);
  const hint = [
    ...[field.description, field.type, field.type === "boolean" && "y or n"],
    field.type === "array" && "separated by commas",
    field.default !== undefined && `default ${textOf(field.default)}`,
    isRequired ? "required" : "optional",
  ];
  const label = typeof field.title === "string" ? field.title : name;
  const schema = { type: "object", properties: { [name]: field }, required: isRequired ? [name] : [] };
  if (choices !== undefined)
    info(choices.map(({ value, title }) => `    ${value}${title === value ? "" : `: ${title}`}`));
  for (;;) {
    const given = await ask(`  ${label} (${hint.filter(Boolean).join(", ")}): `);
    if (given === undefined) return undefined;
    const form = completeForm(
      schema as FormSchema,
      given === "" ? {} : { [name]: toValue(given, field, choices) },
    );
    if ("content" in form) return form.content;
    info(
      form.issues.map(({ message }) => `  ${label} ${message}`),
      "yellow",
    );
  }
}

/** A value that does not fit the type is returned as typed: `completeForm` says what is wrong. */
function toValue(given: string, { type }: Field, choices: readonly Choice[] | undefined): FormValue {
  const text = given.trim();
  if (type === "boolean") {
    if (["y", "yes", "true"].includes(text.toLowerCase())) return true;
    return ["n", "no", "false"].includes(text.toLowerCase()) ? false : given;
  }
  if (type === "array")
    return text === EMPTY_TEXT ? [] : text.split(",").map((item) => choose(item.trim(), choices));
  if (type === "number" || type === "integer") return Number.isNaN(Number(text)) ? given : Number(text);
  if (choices !== undefined) return choose(text, choices);
  return given === EMPTY_TEXT ? "" : given;
}

/** Choices may be typed by their value or their title. */
function choose(text: string, choices: readonly Choice[] | undefined): string {
  const isValue = choices?.some(({ value }) => value === text);
  return isValue ? text : (choices?.find(({ title }) => title === text)?.value ?? text);
}

function choicesOf({ enum: values, enumNames, oneOf, items }: Field): readonly Choice[] | undefined {
  const plain = [values, items?.enum].find(Array.isArray);
  if (plain !== undefined) {
    const titles = Array.isArray(enumNames) ? enumNames : [];
    return plain.map((value, index) => ({ value: String(value), title: String(titles[index] ?? value) }));
  }
  const titled = [oneOf, items?.anyOf].find(Array.isArray);
  return titled?.map((option: { const?: unknown; title?: unknown } | null) => ({
    value: String(option?.const),
    title: String(option?.title ?? option?.const),
  }));
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
