/** Expands variables in strings of configuration files, in the syntax of every supported program, and asks for VS Code's inputs. */
import { isRecord } from "@toolport/base";

/** The environment to look variables up in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable, or the problem with it. */
export type VariableValue =
  | { readonly value: string; readonly secret?: boolean }
  | { readonly problem: string };

/** Where values come from. */
export interface VariableSource {
  readonly env: Environment;
  /** Predefined names such as `workspaceFolder`. @default none */
  readonly words?: Readonly<Record<string, string>>;
  /** `$NAME` is a variable. @default false */
  readonly bare?: boolean;
  /** Reads a file, for `${file:path}`. @default not supported */
  readonly readFile?: (path: string) => Promise<VariableValue>;
  /** Asks the user, for `${input:id}`. @default not supported */
  readonly askInput?: (id: string) => Promise<VariableValue>;
}

interface Expansion {
  readonly text: string;
  /** Problems, without quoting the text. */
  readonly problems: readonly string[];
  /** The text contains a secret value. */
  readonly secret: boolean;
}

const NAME = "[A-Za-z_][A-Za-z0-9_]*";

/** `${…}`, escaped by a second dollar sign; `{env:…}` and `{file:…}`; `$env:NAME`. */
const FORMS = `\\$(?<second>\\$?)\\{(?<braced>[^}]*)\\}|\\{(?<plain>(?:env|file):[^}]*)\\}|\\$env:(?<shell>${NAME})`;
const REFERENCE = new RegExp(FORMS, "g");
const REFERENCE_OR_BARE = new RegExp(`${FORMS}|\\$(?<bare>${NAME})`, "g");
const INSIDE = new RegExp(`^(?:env:)?(?<name>${NAME})(?::-(?<fallback>.*))?$`, "s");

/** Whether a text contains anything that looks like a variable. */
export const hasVariables = (text: string): boolean => text.search(REFERENCE) >= 0;

/** A reference in a text. */
export type Reference =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "input"; readonly id: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | undefined };

/** Parses the references in a text without resolving them. */
export function referencesIn(text: string, { bare = false }: { bare?: boolean } = {}): Reference[] {
  return [...text.matchAll(bare ? REFERENCE_OR_BARE : REFERENCE)].flatMap((match) => {
    const found = readReference(match);
    return typeof found === "object" ? [found] : [];
  });
}

/** Replaces each variable by its default, if it has one. */
export const withDefaults = (text: string): string =>
  text.replace(new RegExp(FORMS, "g"), (whole, ...rest: unknown[]) => {
    const { second, braced = "" } = rest.at(-1) as { second?: string; braced?: string };
    return (second === "$" ? undefined : INSIDE.exec(braced)?.groups?.["fallback"]) ?? whole;
  });

/** Adds braces to bare variables: `toolport.json` requires them. */
export const withBraces = (text: string): string =>
  text.replace(REFERENCE_OR_BARE, (whole, ...rest: unknown[]) => {
    const { bare } = rest.at(-1) as { bare?: string };
    return bare === undefined ? whole : `\${${bare}}`;
  });

/**
 * Expands the variables in one text, in one pass: values are not expanded again.
 *
 * @example
 * ```ts
 * await expandVariables("Bearer ${TOKEN}", { env: { TOKEN: "abc" } }); // { text: "Bearer abc", problems: [], … }
 * await expandVariables("${PORT:-8080}", { env: {} }); // { text: "8080", … }
 * await expandVariables("$${HOME}", { env: {} }); // { text: "${HOME}", … }
 * ```
 */
export async function expandVariables(text: string, source: VariableSource): Promise<Expansion> {
  const problems: string[] = [];
  let secret = false;
  let expanded = "";
  let end = 0;
  for (const match of text.matchAll(source.bare === true ? REFERENCE_OR_BARE : REFERENCE)) {
    const found = await lookUp(match, source);
    expanded += text.slice(end, match.index);
    end = match.index + match[0].length;
    expanded += "problem" in found ? match[0] : found.value;
    if ("problem" in found) problems.push(found.problem);
    else secret ||= found.secret === true;
  }
  return { text: expanded + text.slice(end), problems, secret };
}

/** Parses a match; returns its text if the form is unknown. */
function readReference(match: RegExpExecArray): Reference | string {
  const { second, braced, plain, shell, bare } = match.groups ?? {};
  const inside = braced ?? plain ?? shell ?? bare ?? "";
  if (second === "$") return inside;
  const special = /^(file|input):(.*)$/s.exec(inside);
  if (special?.[1] === "file") return { kind: "file", path: special[2]! };
  if (special?.[1] === "input") return { kind: "input", id: special[2]! };
  const { name, fallback } = INSIDE.exec(inside)?.groups ?? {};
  return name === undefined ? inside : { kind: "variable", name, fallback };
}

async function lookUp(match: RegExpExecArray, source: VariableSource): Promise<VariableValue> {
  const [whole] = match;
  const { second, braced } = match.groups ?? {};
  if (second === "$") return { value: whole.slice(1) };
  if (braced !== undefined && Object.hasOwn(source.words ?? {}, braced))
    return { value: source.words![braced]! };
  const reference = readReference(match);
  if (typeof reference !== "string") {
    const { kind } = reference;
    if (kind === "variable") return fromEnvironment(reference.name, reference.fallback, source.env);
    if (kind === "file" && source.readFile) return source.readFile(reference.path);
    if (kind === "input" && source.askInput) return source.askInput(reference.id);
  }
  // Report unknown variables here: passed on as plain text, they would fail later.
  if (typeof reference !== "string" || /^[A-Za-z]+:/.test(reference)) {
    return {
      problem: `contains ${shorten(whole)}, which is not supported; write \${NAME} or \${NAME:-default}`,
    };
  }
  return { value: whole };
}

const shorten = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

function fromEnvironment(name: string, fallback: string | undefined, env: Environment): VariableValue {
  const value = env[name];
  // As in a shell, `:-` also replaces an empty variable.
  if (typeof value === "string" && (value !== "" || fallback === undefined)) return { value };
  if (fallback !== undefined) return { value: fallback };
  return { problem: `needs the variable ${name}, which is not set; set it, or write \${${name}:-default}` };
}

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
    const input = readInput(
      file,
      id,
      list.findLast((item) => isRecord(item) && item["id"] === id),
    );
    const given =
      typeof answers === "function" ? await answers(input) : new Map(Object.entries(answers ?? {})).get(id);
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
